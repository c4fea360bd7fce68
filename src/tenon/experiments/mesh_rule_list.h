// Mesh rules made from tables: kinds of machines, their sizes, and what a model is given on them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/experiments/mesh_rule.h"
#include "tenon/trainer/mesh_config.h"

namespace tenon {

// What follows the kind in the name of a machine: "512", or "256-4" for four slices of 256.
struct MachineSize {
  std::string name;
  int64_t devices = 0;
};
// Powers of two, from the first to the last; so many of them to a device.
std::vector<MachineSize> powers_of_two(int64_t first, int64_t last, int64_t per_device = 1);
// So many slices of `size` each, of `devices` each; a single one has no number.
std::vector<MachineSize> slices(int64_t size, int64_t devices, const std::vector<int64_t>& counts);

struct MachineLayout {
  MeshConfig mesh = {};  // one axis -1
  // Tokens that a group of devices that share sequences (along `seq` and `model`) takes at a time, in whole sequences
  // and at least one: the rest of a batch are microbatches.
  int64_t tokens_at_once = 0;
  std::vector<Modifier> modifiers = {};
};

// The rules of a model that is trained on batches of so many sequences.
class MeshRuleList {
 public:
  MeshRuleList(int64_t num_sequences, int64_t sequence_length)
      : num_sequences_(num_sequences), sequence_length_(sequence_length) {}

  // A rule for every run of sizes that need the same mesh and number of microbatches. Where there are more groups of
  // devices than sequences, `model` grows by what is over, and a fixed `fsdp` shrinks; sizes for which that would be
  // more than eightfold (a host's devices) have no rule. `kind` is a regular expression for all but the size and the
  // dash before it.
  void add(const std::string& kind, const std::vector<MachineSize>& sizes, const MachineLayout& layout);
  // A rule as it stands.
  void add(MeshRule rule) { rules_.push_back(std::move(rule)); }

  std::vector<MeshRule> rules() const { return rules_; }

 private:
  int64_t num_sequences_, sequence_length_;
  std::vector<MeshRule> rules_;
};

}  // namespace tenon
