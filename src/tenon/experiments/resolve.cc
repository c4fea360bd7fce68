#include "tenon/experiments/resolve.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/base/file.h"
#include "tenon/config/define.h"
#include "tenon/config/path.h"
#include "tenon/config/text.h"
#include "tenon/config/toml.h"

namespace tenon {
namespace {

constexpr std::string_view kArgs = "args";

// What the paths "args.…" lead into.
class Arguments final : public Configurable {
 public:
  struct Config : AnyConfig {
    Fn<Trainer::Config()> args;
    void check(Checker& c) const { c.require(args.has_value(), "args", "must be a function that makes a config"); }
    TENON_CONFIG(args)
  };
  explicit Arguments(const Config&) {}
};
TENON_MODULE(Arguments, Configurable, "the function that is an experiment")

// Overrides of one tree.
struct Part {
  std::vector<Value> tables;
  std::vector<std::string> assignments;

  void apply_to(AnyConfig& config) const {
    for (const Value& table : tables) overlay(config, table);
    apply_set(config, assignments);
  }
};
struct Parts {
  Part arguments, fields;
};

void split_table(const Value& whole, Parts& parts) {
  Value::Table arguments, fields;
  for (const Value::Entry& entry : *whole.as<Value::Table>()) {
    (entry.key == kArgs ? arguments : fields).push_back(entry);
  }
  parts.arguments.tables.emplace_back(std::move(arguments));
  parts.fields.tables.emplace_back(std::move(fields));
}

bool sets_argument(std::string_view assignment) {
  return assignment.starts_with(kArgs) && assignment.substr(kArgs.size()).find_first_of(".=") == 0;
}

Parts split(const Overrides& overrides) {
  Parts parts;
  for (const std::string& file : overrides.files) split_table(parse_toml(read_file(file).value(), file).value(), parts);
  for (const std::string& assignment : overrides.assignments) {
    (sets_argument(assignment) ? parts.arguments : parts.fields).assignments.push_back(assignment);
  }
  return parts;
}

Arguments::Config arguments_of(const Experiment& experiment, const Part& overrides) {
  Arguments::Config out;
  out.args = experiment.make;
  overrides.apply_to(out);
  return out;
}

}  // namespace

Trainer::Config resolve(const Experiment& experiment, const Overrides& overrides) {
  const Parts parts = split(overrides);
  Trainer::Config config = arguments_of(experiment, parts.arguments).args();
  parts.fields.apply_to(config);
  return config;
}

std::string arguments_to_toml(const Experiment& experiment, const Overrides& overrides) {
  const Arguments::Config arguments = arguments_of(experiment, split(overrides).arguments);
  std::vector<std::pair<std::string, std::string_view>> lines;  // and what each is
  size_t width = 0;
  for (const auto& [path, value] : flatten(arguments)) {
    const Path parts = parse_path(path);
    if (parts.front() != kArgs) continue;
    const Field* field = find_field(arguments.args.type()->fields(), parts.at(1));
    lines.emplace_back(fmt::format("{} = {}", path, value), field != nullptr ? field->doc : "");
    width = std::max(width, lines.back().first.size());
  }
  std::string text;
  for (const auto& [line, doc] : lines) {
    text += doc.empty() ? line + "\n" : fmt::format("{:<{}}  # {}\n", line, width, doc);
  }
  return text;
}

}  // namespace tenon
