// An experiment as `tenon train` would run it with a mesh rule that isn't among its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tenon/experiments/resolve.h"
#include "tenon/runtime/aot.h"
#include "tenon/tune/search_space.h"

namespace tenon {

class TunedExperiment {
 public:
  // `overrides.instance` is what the rule is for; without one it is instance_name(target). Mesh rules that the target's
  // chip is described with are asked behind the experiment's. Throws what resolve throws, and `invalid_argument` where
  // the batch isn't `global_batch` after all.
  TunedExperiment(const Experiment& experiment, Overrides overrides, const AotTarget& target, int64_t global_batch,
                  const ChipTable& chips = ChipTable::builtin());

  const std::string& name() const { return experiment_.name; }
  const std::string& instance() const { return *overrides_.instance; }
  // Without any mesh rule, and by its own or the chip's rule for the instance, if there is one.
  const Trainer::Config& bare() const { return bare_; }
  const Trainer::Config& by_own_rule() const { return by_own_rule_; }
  // "mesh rule 11", "mesh rule 0 of device z1", or "no mesh rule".
  const std::string& own_rule() const { return own_rule_; }
  // With a rule of these modifiers in the place of its own rules.
  Trainer::Config by_rule(const RuleModifiers& modifiers) const;

  // A file for `--config`: what the experiment is, the batch, and the rule; no modifiers: no rule. `comment` comes
  // first, its lines as comments.
  std::string rule_file(const RuleModifiers& modifiers, const std::string& comment) const;
  // What a run with `file` and the instance would be, and the shell's command for it, with all that was overridden.
  Trainer::Config by_file(const std::string& file) const;
  std::string train_command(const std::string& file) const;

 private:
  Trainer::Config checked(Overrides overrides, std::string* report = nullptr) const;
  const Experiment& experiment_;
  Overrides overrides_;
  std::string batch_path_;  // "args.batch_size" or "data.batch_size"
  int64_t global_batch_;
  Trainer::Config bare_, by_own_rule_;
  std::string own_rule_;
};

// The type of such a machine, as the shipped rules name it: "cpu-8", "gpu-h100-256", "tpu-v5e-256-2" (two slices),
// of v4, v5p and tpu7x by TensorCores, two a chip; of other chips, and those described with mesh rules,
// Chip::instance.
std::string instance_name(const AotTarget& target, const ChipTable& chips = ChipTable::builtin());
// A regular expression that matches this text alone.
std::string literal_regex(std::string_view text);

}  // namespace tenon
