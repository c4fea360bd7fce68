#include "tenon/cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <sstream>
#include <utility>

#include "tenon/base/error.h"
#include "tenon/base/text.h"

namespace tenon {
namespace {

template <class T>
constexpr bool kIsList = false;
template <class T>
constexpr bool kIsList<std::vector<T>> = true;

template <class T>
CLI::Option* add_option(CLI::App& app, const Option& option, T& target) {
  if constexpr (std::is_same_v<T, bool>) {
    return app.add_flag(option.name, target, option.doc);
  } else {
    CLI::Option* out = app.add_option(option.name, target, option.doc);
    if (!option.type.empty()) out->type_name(option.type);
    if (kIsList<T> && !option.is_positional()) out->expected(1)->take_all()->allow_extra_args(false);
    if (option.default_in_help) out->capture_default_str();
    return out->required(option.is_required);
  }
}

// Sets `chosen` when the command, or one of its own, is parsed.
void describe(const Command& command, CLI::App& app, const Command*& chosen) {
  app.footer(command.footer);
  if (command.hidden) app.group("");
  if (!command.version.empty()) app.set_version_flag("--version", command.version, "Print the version and exit");
  for (const Option& option : command.options) {
    CLI::Option* out = std::visit([&](auto* target) { return add_option(app, option, *target); }, option.target);
    if (option.other != nullptr) out->excludes(app.get_option(option.other->name));
  }
  for (const Command& inner : command.commands) describe(inner, *app.add_subcommand(inner.name, inner.doc), chosen);
  if (!command.commands.empty()) app.require_subcommand(1);
  if (command.action) app.callback([&command, &chosen] { chosen = &command; });
}

// The command as far as it was understood: "tenon config show".
std::string command_name(const CLI::App& app) {
  const auto inner = app.get_subcommands();
  return app.get_name() + (inner.empty() ? "" : " " + command_name(*inner.front()));
}

// What is wrong with a command line whose first word is `first`.
Error parse_error(const CLI::App& app, const CLI::ParseError& e, const std::string& first) {
  if (app.get_subcommands().empty() && !first.empty() && first.front() != '-') {
    std::vector<std::string> commands;
    for (const CLI::App* command : app.get_subcommands({})) commands.push_back(command->get_name());
    return Error(ErrorCode::unknown_name, fmt::format("there is no command {}", quote_text(first)))
        .expected(join(commands, ", "))
        .hint(did_you_mean(first, commands));
  }
  return Error(ErrorCode::invalid_argument, e.what())
      .hint(fmt::format("`{} --help` shows what there is", command_name(app)));
}

}  // namespace

Option& Option::required() {
  is_required = true;
  return *this;
}

Option& Option::with_default() {
  default_in_help = true;
  return *this;
}

Option& Option::type_name(std::string text) {
  type = std::move(text);
  return *this;
}

Option& Option::excludes(const Option& option) {
  other = &option;
  return *this;
}

Command& Command::add(std::string command, std::string what) {
  return commands.emplace_back(Command{.name = std::move(command), .doc = std::move(what), .footer = footer});
}

Option& Command::option(std::string option, OptionTarget target, std::string what) {
  return options.emplace_back(Option{std::move(option), target, std::move(what)});
}

std::function<void()> parse_command_line(const Command& program, int argc, const char* const* argv) {
  CLI::App app(program.doc, program.name);
  const Command* chosen = nullptr;
  describe(program, app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() != 0) throw parse_error(app, e, argc > 1 ? argv[1] : "");
    std::ostringstream text;
    app.exit(e, text);
    return [text = text.str()] { print_text(text); };
  }
  return chosen->action;
}

void print_text(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw Error(ErrorCode::io, "standard output can't be written");
  }
}

}  // namespace tenon
