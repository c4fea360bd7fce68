#include "tenon/cli/completion.h"

#include <algorithm>
#include <set>

#include "tenon/base/text.h"
#include "tenon/cli/command_line.h"
#include "tenon/cli/config_commands.h"
#include "tenon/cli/options.h"
#include "tenon/config/config_type.h"
#include "tenon/config/registry.h"
#include "tenon/config/text.h"

namespace tenon {
namespace {

// The script asks with every word behind "tenon" up to the cursor. Candidates that end in '.' or '=' go on.
constexpr const char* kBash = R"sh(_tenon() {
  local IFS=$'\n'
  COMPREPLY=($(tenon complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[.=] ]] && compopt -o nospace
  return 0
}
complete -o default -F _tenon tenon
)sh";
constexpr const char* kZsh = R"sh(#compdef tenon
_tenon() {
  local -a going finished
  local word
  for word in ${(f)"$(tenon complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)"}; do
    if [[ $word == *[.=] ]]; then going+=("$word"); else finished+=("$word"); fi
  done
  (( $#going )) && compadd -S '' -- $going
  (( $#finished )) && compadd -- $finished
  (( $#going + $#finished )) || _files
}
compdef _tenon tenon
)sh";

using Words = std::vector<std::string>;

// Loads the plug-ins that the words before the last name; one that can't be loaded adds nothing to choose from.
void load_plugins_in(const Words& words) {
  constexpr std::string_view kOption = "--plugin", kWithValue = "--plugin=";
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    std::string path;
    if (words[i].starts_with(kWithValue)) path = words[i].substr(kWithValue.size());
    if (words[i] == kOption && i + 2 < words.size()) path = words[i + 1];
    if (path.empty()) continue;
    try {
      load_plugins({path});
    } catch (const Error&) {
      continue;
    }
  }
}

// All paths of the first experiment that a word names, a file with a base among them, as `--set` takes them.
Words paths(const Words& words) {
  Words out;
  for (const std::string& word : words) {
    try {
      Overrides overrides;
      const Experiment& found = find_experiment(experiments(), word, overrides);
      for (const TextLine& line : flatten(resolve(found, overrides).config)) out.push_back(line.path + "=");
      for (const std::string& line : split(arguments_to_toml(found, overrides), '\n')) {
        if (!line.empty()) out.push_back(line.substr(0, line.find(' ')) + "=");
      }
      return out;
    } catch (const Error&) {
      continue;  // no experiment
    }
  }
  return out;
}

// Paths, cut at the first point behind what is there already.
Words parts(const Words& paths, const std::string& start) {
  std::set<std::string> out;
  for (const std::string& path : paths) {
    if (!path.starts_with(start)) continue;
    const size_t point = path.find('.', start.size());
    out.insert(point == std::string::npos ? path : path.substr(0, point + 1));
  }
  return {out.begin(), out.end()};
}

Words experiment_names() {
  Words out;
  for (const Experiment* e : experiments().all()) out.push_back(e->name);
  return out;
}

Words type_names() {
  Words out;
  for (const auto* type : Registry::global().implementations(AnyConfig::static_type())) out.emplace_back(type->name());
  for (const auto* type : Registry::global().interfaces()) out.emplace_back(type->name());
  for (const auto* type : Registry::global().functions()) out.emplace_back(type->name());
  return out;
}

Words modifier_names() {
  Words out;
  for (const auto* type : Registry::global().functions(typeid(void(AnyConfig&)))) out.emplace_back(type->name());
  return out;
}

// The command that the words before the last name, as far as they do.
const Command& command_of(const Command& program, const Words& words) {
  const Command* command = &program;
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    for (const Command& inner : command->commands) {
      if (inner.name != words[i]) continue;
      command = &inner;
      break;
    }
  }
  return *command;
}

// Candidates for an option's value that begins with `start`; none for what isn't known.
Words values_of(const std::string& option, const Words& words, const std::string& start) {
  if (option == "--set") return parts(paths(words), start);
  if (option == "--modify") return modifier_names();
  if (option == "--resume") return {"auto", "never", "must"};
  return {};
}

bool takes_value(const Command& command, const std::string& word) {
  return std::any_of(command.options.begin(), command.options.end(), [&](const Option& option) {
    return option.name == word && !option.is_positional() && !option.is_flag();
  });
}

Words option_names(const Command& command) {
  Words out{"--help"};
  if (!command.version.empty()) out.emplace_back("--version");
  for (const Option& option : command.options) {
    if (!option.is_positional()) out.push_back(option.name);
  }
  return out;
}

Words candidates(const Command& command, const Words& words) {
  if (words.size() > 1 && takes_value(command, words[words.size() - 2]))
    return values_of(words[words.size() - 2], words, words.back());
  const size_t equals = words.back().find('=');
  if (const std::string option = words.back().substr(0, equals);
      equals != std::string::npos && takes_value(command, option)) {
    Words out = values_of(option, words, words.back().substr(equals + 1));
    for (std::string& value : out) value.insert(0, option + "=");
    return out;
  }
  if (words.back().starts_with("-")) return option_names(command);
  Words out;
  for (const Command& inner : command.commands) {
    if (!inner.hidden) out.push_back(inner.name);
  }
  for (const Option& option : command.options) {
    const Words more = option.name == "experiment" || option.name == "other" ? experiment_names() : Words{};
    out.insert(out.end(), more.begin(), more.end());
    if (option.name == "type") out = type_names();
    if (option.name == "shell") out = {"bash", "zsh"};
  }
  return out;
}

}  // namespace

std::vector<std::string> complete(const Command& program, std::vector<std::string> words) {
  if (words.empty()) return {};
  // bash takes "--set=model" apart: --set = model.
  for (size_t i = words.size() - 1; i > 0; --i) {
    if (words[i] != "=" || !words[i - 1].starts_with("--")) continue;
    if (i + 1 == words.size()) words.emplace_back();
    words.erase(words.begin() + static_cast<int64_t>(i));
  }
  load_plugins_in(words);
  Words out = candidates(command_of(program, words), words);
  std::erase_if(out, [&](const std::string& word) { return !word.starts_with(words.back()); });
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::string completion_script(const std::string& shell) {
  if (shell == "bash") return kBash;
  if (shell == "zsh") return kZsh;
  throw Error(ErrorCode::invalid_argument, "no such shell").at("shell").got(quote_text(shell)).expected("bash or zsh");
}

void add_completion_command(Command& program) {
  const auto shell = std::make_shared<std::string>();
  Command& script = program.add("completion", "a script by which a shell completes commands; source it");
  script.option("shell", shell.get(), "bash or zsh").required();
  script.action = [shell] { print_text(completion_script(*shell)); };
  const auto words = std::make_shared<Words>();
  Command& inner = program.add("complete", "what the last word may become");
  inner.hidden = true;  // it's for the scripts
  inner.option("words", words.get(), "");
  inner.action = [&program, words] { print_text(join(complete(program, *words), "\n") + "\n"); };
}

}  // namespace tenon
