// Which of a learner's arrays go on from a checkpoint, that of another learner too.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tenon/checkpoint/checkpoint.h"
#include "tenon/trainer/train_step.h"

namespace tenon {

// An array goes on when the checkpoint has all of its layers by name and shape, and the optimizer that kept it there
// means the same by it. Names are those in files.
struct LearnerMatch {
  std::vector<bool> goes_on;  // of each array of StateLayout::learner
  std::vector<std::string> kept, lost, anew;
  // The optimizer has arrays, and all of them start anew: so does its count of updates.
  bool optimizer_anew = false;
  bool is_exact() const { return lost.empty() && anew.empty(); }
};
// `rules` is Learner::compare_rules of the run's learner with the checkpoint's; an array that isn't in it is no
// optimizer's, and means the same in all learners.
LearnerMatch match_learner(const StateLayout& layout, const std::map<std::string, bool>& rules,
                           const OpenedCheckpoint& checkpoint);

// `names`, those of one kind together: "learner.m (all 12), learner.v (2 of 12: out, norm.scale), learner.skipped".
// `others` are the names that might have been among them.
std::string format_groups(const std::vector<std::string>& names, const std::vector<std::string>& others);

}  // namespace tenon
