// Modifiers of whole trainings.
#pragma once

#include <map>
#include <string>

#include "tenon/base/dtype.h"
#include "tenon/config/modifier.h"
#include "tenon/trainer/mesh_config.h"

namespace tenon {

// The mesh, whole: axes that it doesn't name have their defaults.
struct SetMesh {
  MeshConfig mesh = {};
  TENON_FN(mesh)
  void operator()(AnyConfig& tree) const;
};

// Splits every batch into so many microbatches.
struct AccumulateGradients {
  int64_t steps = 1;
  void check(Checker& c) const;
  TENON_FN(steps)
  void operator()(AnyConfig& tree) const;
};

// Adds flags of the compiler to Trainer::Config::xla_flags, over those of the same names.
struct SetXlaFlags {
  std::map<std::string, std::string> flags = {};
  void check(Checker& c) const;
  TENON_FN(flags)
  void operator()(AnyConfig& tree) const;
};

// Parameters whole on every device, as data parallelism has them, but what the optimizer keeps split over `fsdp`
// (ZeRO-1, Rajbhandari et al. 2020): takes `fsdp` out of the specs of weights, and sets optimizer_axes. Without it
// parameters are split too (ZeRO-3).
struct ShardOptimizerOnly {
  TENON_FN()
  void operator()(AnyConfig& tree) const;
};

// Multiplies the batch size; the result must be a whole number of examples.
struct ScaleBatch {
  double factor = 1;
  void check(Checker& c) const;
  TENON_FN(factor)
  void operator()(AnyConfig& tree) const;
};

// The dtypes that modules read their parameters in and store them in, by the path of the module: {"model.**.norm" =
// "f32", "model" = "bf16"}; what lies in a module inherits its dtype. And those of what the learner keeps.
struct SetPrecision {
  std::map<std::string, DType> compute = {}, params = {};  // by path pattern (path_pattern.h)
  std::map<std::string, DType> learner_state = {};         // takes the place of Learner::Config::state_dtypes
  void check(Checker& c) const;
  TENON_FN(compute, params, learner_state)
  void operator()(AnyConfig& tree) const;
};

}  // namespace tenon
