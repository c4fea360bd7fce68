// Optimizer state in host memory.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>

#include "tenon/optim/optimizer.h"

namespace tenon {

// Which of an optimizer's arrays lie in pinned host memory between their uses. A step moves them to the device and
// back: those of a stack one layer at a time, others whole.
struct OptimizerOffload {
  // A regular expression (ECMAScript) looked for in their names: "m.decoder.layers.0::1.norm.scale".
  std::string arrays = ".*";
  void check(Checker& c) const;
  TENON_FIELDS(arrays)
  bool operator==(const OptimizerOffload&) const = default;
};

// One parameter's next value and state.
using ParamUpdate = std::function<std::pair<Tensor, Nest>(const OptimizerArgs&)>;

// Traced: what `update` gives, where the arrays of args.state that `on_host` names lie in host memory, as those of the
// result then do.
std::pair<Tensor, Nest> update_offloaded(const OptimizerArgs& args, const std::set<std::string>& on_host,
                                         const ParamUpdate& update);

}  // namespace tenon
