#include "tenon/tune/tuned_experiment.h"

#include <fmt/format.h>

#include "tenon/base/text.h"
#include "tenon/config/config_type.h"
#include "tenon/data/dataset.h"
#include "tenon/experiments/machine_types.h"

namespace tenon {
namespace {

// As one word of a shell's command.
std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// Where an experiment takes its batch from.
std::string batch_path(const Experiment& experiment) {
  const FnType* args = experiment.make.type();
  const bool is_argument = args != nullptr && find_field(args->fields(), "batch_size") != nullptr;
  return is_argument ? "args.batch_size" : "data.batch_size";
}

std::string rule_toml(const std::string& instance, const RuleModifiers& modifiers) {
  return fmt::format("{{instance = {}, modifiers = {}}}", quote(literal_regex(instance)), to_toml(modifiers));
}

std::string as_comment(const std::string& text) {
  std::string out;
  for (const std::string& line : split(text, '\n')) out += line.empty() ? "#\n" : "# " + line + "\n";
  return text.empty() ? "" : out;
}

// Which mesh rule the report of resolving names.
std::string rule_in(const std::string& report) {
  for (const std::string& line : split(report, '\n')) {
    if (line.starts_with("mesh rule ")) return line.substr(0, line.find(','));
  }
  return "no mesh rule";
}

}  // namespace

std::string literal_regex(std::string_view text) {
  constexpr std::string_view kSpecial = R"(\^$.|?*+()[]{})";
  std::string out;
  for (const char c : text) {
    if (kSpecial.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string instance_name(const AotTarget& target, const ChipTable& chips) {
  if (target.name == "cpu") return fmt::format("cpu-{}", target.num_devices);
  const Chip& chip = chips.find(target.name);
  const bool is_gpu = target.platform == "cuda" || target.platform == "rocm";
  if (chip.setup.has_mesh_rules() || (!is_gpu && target.platform != "tpu")) return chip.instance(target.num_devices);
  if (is_gpu) return fmt::format("gpu-{}-{}", target.name, target.num_devices);
  const int64_t of_slice = target.num_devices / target.num_slices / chip.devices_per_chip;
  const bool by_core = target.name == "v4" || target.name == "v5p" || target.name == "tpu7x";
  const std::string slices = target.num_slices > 1 ? fmt::format("-{}", target.num_slices) : "";
  return fmt::format("tpu-{}-{}{}", target.name, by_core ? 2 * of_slice : of_slice, slices);
}

TunedExperiment::TunedExperiment(const Experiment& experiment, Overrides overrides, const AotTarget& target,
                                 int64_t global_batch, const ChipTable& chips)
    : experiment_(experiment),
      overrides_(std::move(overrides)),
      batch_path_(batch_path(experiment)),
      global_batch_(global_batch) {
  if (!overrides_.instance) overrides_.instance = instance_name(target, chips);
  if (target.name != "cpu") {
    const Chip& chip = chips.find(target.name);
    check_instance(*overrides_.instance, chip.name, target.num_devices);
    if (chip.setup.has_mesh_rules()) overrides_.device = std::make_shared<const Chip>(chip);
  }
  overrides_.assignments.push_back(fmt::format("{}={}", batch_path_, global_batch));
  std::string report;
  by_own_rule_ = checked(overrides_, &report);
  own_rule_ = rule_in(report);
  Overrides bare = overrides_;
  bare.instance.reset();
  bare_ = checked(std::move(bare));
}

Trainer::Config TunedExperiment::checked(Overrides overrides, std::string* report) const {
  Resolved resolved = resolve(experiment_, overrides);
  if (report != nullptr) *report = std::move(resolved.report);
  const int64_t batch = resolved.config.data->batch_size.value();
  if (batch == global_batch_) return std::move(resolved.config);
  throw Error(ErrorCode::invalid_argument, "the experiment changes the batch again")
      .at("data.batch_size")
      .got(std::to_string(batch))
      .expected(fmt::format("{}, as --global_batch says", global_batch_));
}

Trainer::Config TunedExperiment::by_rule(const RuleModifiers& modifiers) const {
  Overrides overrides = overrides_;
  overrides.assignments.push_back(fmt::format("mesh_rules=[{}]", rule_toml(instance(), modifiers)));
  return checked(std::move(overrides));
}

std::string TunedExperiment::rule_file(const RuleModifiers& modifiers, const std::string& comment) const {
  std::string out = as_comment(comment);
  out += fmt::format("base = {}\n{} = {}\n", quote(name()), batch_path_, global_batch_);
  if (modifiers.empty()) return out;
  return out + fmt::format("\n[[mesh_rules]]\ninstance = {}\nmodifiers = [\n  {},\n]\n",
                           quote(literal_regex(instance())), join(modifiers, ",\n  "));
}

Trainer::Config TunedExperiment::by_file(const std::string& file) const {
  Overrides overrides = overrides_;
  overrides.assignments.pop_back();  // the batch, which the file says
  overrides.files.push_back(file);
  return checked(std::move(overrides));
}

std::string TunedExperiment::train_command(const std::string& file) const {
  std::string out = "tenon train " + shell_word(name());
  const auto add = [&](const char* option, const std::string& value) {
    out += fmt::format(" {} {}", option, shell_word(value));
  };
  for (const std::string& each : overrides_.files) add("--config", each);
  add("--config", file);
  for (const std::string& each : overrides_.modifiers) add("--modify", each);
  for (size_t i = 0; i + 1 < overrides_.assignments.size(); ++i)
    add("--set", overrides_.assignments[i]);  // last: batch
  add("--instance", instance());
  return out;
}

}  // namespace tenon
