#include "tenon/experiments/golden.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "tenon/base/file.h"
#include "tenon/base/text.h"
#include "tenon/config/access.h"
#include "tenon/config/build_part.h"
#include "tenon/config/define.h"
#include "tenon/config/validate.h"
#include "tenon/experiments/overlay_file.h"
#include "tenon/nn/model.h"
#include "tenon/optim/learner.h"

namespace tenon {
namespace {

// Holds one initializer, to print it.
class Initialized final : public Configurable {
 public:
  struct Config : AnyConfig {
    Initializer init;
    TENON_CONFIG(init)
  };
  explicit Initialized(const Config&) {}
};
TENON_MODULE(Initialized, Configurable, "something with an initializer")

std::string describe_array(const ParamInfo& param) {
  std::vector<std::string> dims;
  for (const int64_t dim : param.logical_shape()) dims.push_back(std::to_string(dim));
  std::string text = fmt::format("[{}] split {}", join(dims, ","), quote(to_string(param.partition)));
  if (param.stack != 0) text += fmt::format(" stack {}", param.stack);
  return text;
}

std::string describe_parameter(const ParamInfo& param) {
  if (!param.trainable) return describe_array(param) + " not trained";
  Initialized::Config config;
  config.init = param.init;
  return fmt::format("{} init {} decay {}", describe_array(param), get(config, "init").text(),
                     format_float(param.decay_scale));
}

void add_learner(std::vector<TextLine>& out, const Learner& learner, const std::vector<ParamInfo>& params,
                 int64_t max_steps) {
  std::map<std::string, std::vector<std::string>> scalars;
  for (const int64_t step : {int64_t{0}, max_steps / 2, max_steps - 1}) {
    for (const auto& [name, value] : learner.scalars(step)) scalars[name].push_back(format_float(value));
  }
  for (const auto& [name, values] : scalars) out.push_back({"learner.scalars." + name, join(values, ", ")});
  std::vector<TextLine> arrays;
  for (const ParamInfo& array : learner.describe(params)) {
    arrays.push_back({"learner.state." + array.path, describe_array(array)});
  }
  std::sort(arrays.begin(), arrays.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  out.insert(out.end(), arrays.begin(), arrays.end());
}

std::string golden_file(const std::string& dir, const std::string& name) {
  return (std::filesystem::path(dir) / (name + ".golden")).string();
}

using Lines = std::map<std::string, std::string>;

// Nothing when there is no such file.
std::optional<Lines> read_lines(const std::string& file) {
  const Result<std::string> text = read_file(file);
  if (!text.ok() && text.error().code() == ErrorCode::not_found) return std::nullopt;
  Lines lines;
  int64_t number = 0;
  for (const std::string& line : split(text.value(), '\n')) {
    ++number;
    if (line.empty()) continue;
    const size_t equals = line.find(" = ");
    if (equals == std::string::npos || !lines.try_emplace(line.substr(0, equals), line.substr(equals + 3)).second) {
      throw Error(ErrorCode::damaged, "not a line of a golden, or one that stands twice")
          .at(fmt::format("{}:{}", file, number))
          .got(quote_text(line));
    }
  }
  return lines;
}

std::vector<Difference> compare(const Lines& before, const Lines& after) {
  std::vector<Difference> out;
  for (const auto& [path, value] : before) {
    const auto it = after.find(path);
    if (it == after.end()) {
      out.push_back({path, value, std::nullopt});
    } else if (it->second != value) {
      out.push_back({path, value, it->second});
    }
  }
  for (const auto& [path, value] : after) {
    if (before.count(path) == 0) out.push_back({path, std::nullopt, value});
  }
  return out;
}

void check_names(const std::vector<GoldenSubject>& subjects) {
  std::set<std::string> names;
  for (const GoldenSubject& subject : subjects) {
    if (names.insert(subject.name).second) continue;
    throw Error(ErrorCode::invalid_argument, "two of what was given have one golden")
        .got(subject.name + ".golden")
        .hint("name each once, and files by different names");
  }
}

GoldenReport compare_goldens(const std::string& dir, const std::vector<GoldenSubject>& subjects, bool write) {
  check_names(subjects);
  GoldenReport report;
  for (const GoldenSubject& subject : subjects) {
    const std::vector<TextLine> lines = golden_lines(subject);
    const std::string file = golden_file(dir, subject.name);
    ++report.checked;
    Lines now;
    for (const TextLine& line : lines) now.emplace(line.path, line.value);
    const std::optional<Lines> before = read_lines(file);
    GoldenChange change{subject.name, !before, before ? compare(*before, now) : std::vector<Difference>{}};
    if (before && change.differences.empty()) continue;
    if (write) write_file_atomic(file, to_string(lines)).value();
    report.changed.push_back(std::move(change));
  }
  return report;
}

// One field that several experiments change.
struct FieldChange {
  std::string field;
  int64_t experiments = 0;
  std::string example, where;
};

std::vector<FieldChange> by_field(const GoldenReport& report) {
  std::map<std::string, FieldChange> fields;
  for (const GoldenChange& change : report.changed) {
    std::map<std::string, const Difference*> first;
    for (const Difference& d : change.differences) {
      const std::string group = d.path.substr(0, d.path.find('.'));
      const std::string name = d.path.substr(d.path.rfind('.') + 1);
      first.try_emplace(group == "config" ? name : group + " " + name, &d);
    }
    for (const auto& [field, d] : first) {
      FieldChange& entry = fields[field];
      if (entry.experiments++ != 0) continue;
      entry.field = field;
      entry.where = change.name;
      entry.example = to_string(*d);
    }
  }
  std::vector<FieldChange> out;
  for (auto& [field, entry] : fields) out.push_back(std::move(entry));
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.experiments > b.experiments; });
  return out;
}

}  // namespace

GoldenSubject golden_subject(const ExperimentRegistry& registry, const std::string& name) {
  GoldenSubject out;
  out.experiment = &find_experiment(registry, name, out.overrides);
  out.name = name;
  if (!is_overlay_file(name)) return out;
  out.name = std::filesystem::path(name).stem().string();
  for (const Experiment* experiment : registry.all()) {
    if (experiment->name != out.name) continue;
    throw Error(ErrorCode::invalid_argument, "the file's golden would be that of the experiment " + out.name)
        .at(name)
        .hint("give the file another name");
  }
  return out;
}

std::vector<TextLine> golden_lines(const GoldenSubject& subject) {
  const Trainer::Config config = resolve(*subject.experiment, subject.overrides).config;
  validate(config);
  std::vector<TextLine> out;
  for (const auto& [path, value] : flatten(config)) out.push_back({"config." + path, value});
  const std::unique_ptr<Model> model = build_part("model", config.model);
  const std::unique_ptr<Learner> learner = build_part("learner", config.learner);
  const std::vector<ParamInfo> params = describe_state(*model);
  learner->check_parameters(params);
  add_learner(out, *learner, params, config.max_steps);
  for (TextLine& line : mesh_rule_lines(*subject.experiment, subject.overrides)) out.push_back(std::move(line));
  std::vector<TextLine> arrays;
  for (const ParamInfo& param : params) arrays.push_back({"parameters." + param.path, describe_parameter(param)});
  std::sort(arrays.begin(), arrays.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  out.insert(out.end(), arrays.begin(), arrays.end());
  return out;
}

GoldenReport check_goldens(const std::string& dir, const std::vector<GoldenSubject>& subjects) {
  if (!is_dir(dir)) {
    throw Error(ErrorCode::not_found, "there is no such folder of goldens").at(dir).hint("`golden update` makes it");
  }
  return compare_goldens(dir, subjects, false);
}

GoldenReport update_goldens(const std::string& dir, const std::vector<GoldenSubject>& subjects) {
  make_dirs(dir).value();
  return compare_goldens(dir, subjects, true);
}

std::string to_string(const GoldenReport& report) {
  std::string text = fmt::format("{} of {} goldens differ\n", report.changed.size(), report.checked);
  std::vector<std::string> added;
  for (const GoldenChange& change : report.changed) {
    if (change.is_new) added.push_back(change.name);
  }
  if (!added.empty()) text += "new: " + join(added, ", ") + "\n";
  for (const FieldChange& change : by_field(report)) {
    text +=
        fmt::format("{} experiment{} change{} {}\n  {}: {}\n", change.experiments, change.experiments == 1 ? "" : "s",
                    change.experiments == 1 ? "s" : "", change.field, change.where, change.example);
  }
  return text;
}

}  // namespace tenon
