// How one parameter is updated from its gradient.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tenon/autodiff/tree.h"
#include "tenon/config/config.h"
#include "tenon/nn/module.h"

namespace tenon {

// Numbers a program gets anew at every step, by name: changing one doesn't recompile.
using StepScalars = std::map<std::string, double>;

// What an optimizer sees of one parameter while the step is traced.
struct OptimizerArgs {
  const ParamInfo& param;
  Tensor value, grad;  // f32, as stored: padded, stacked layers in front
  Nest state;          // as init gave it
  // f32 scalars: "learning_rate", and what Optimizer::scalars names. The rate of stacked layers may be one for each,
  // [L,1,…]: spread takes both.
  Nest scalars;
  Tensor num_updates;  // f32 scalar: 1 at the first update; skipped steps don't count
  Tensor applied;      // i1 scalar: where false, value and state stay as they were, whatever the rule returns
  // i32 scalar: of a stack, the arrays hold this layer alone, [1,…]. Empty: they hold all.
  Tensor layer = {};
};

// A rule that works on one parameter at a time. Padding must stay zero: from zero value, gradient and state to zero.
class Optimizer : public Configurable {
 public:
  struct Config : AnyConfig {
    TENON_FIELDS()
  };
  // Throws when the rule doesn't fit these parameters: all that are trained, before any is described.
  virtual void check_parameters(const std::vector<ParamInfo>&) const {}
  // The optimizer that has this parameter in the end: this one, or one in it. What two of one class keep under one name
  // means the same.
  virtual const Optimizer& rule_of(const ParamInfo&) const { return *this; }
  // Whether it ever changes this parameter.
  virtual bool updates(const ParamInfo&) const { return true; }
  // The rule's own run-time numbers at `step` (from 0).
  virtual StepScalars scalars(int64_t step) const = 0;
  // The arrays kept for a parameter: their names ("m") as paths, logical shapes, stack and partition.
  virtual std::vector<ParamInfo> describe(const ParamInfo& param) const = 0;
  // Their values at the start, by the same names.
  virtual Nest init(const ParamInfo& param, const Tensor& value) const = 0;
  // The next value and state.
  virtual std::pair<Tensor, Nest> update(const OptimizerArgs& args) const = 0;
};

// An array of the state that is like its parameter: of its shape, stack and partition, f32.
ParamInfo like_parameter(const ParamInfo& param, std::string name);
// The same without logical dimension `dim`.
ParamInfo without_dim(ParamInfo info, int64_t dim);
// How many dimensions of a parameter's stored arrays are the stack: 0 or 1.
int64_t stack_rank(const ParamInfo& param);

// A scalar (or one for each layer, [L,1,…]) for every element of `like`.
Tensor spread(const Tensor& scalar, const Tensor& like);
// `next` where `applied`, an i1 scalar, else `before`, bit for bit.
Tensor keep_unless(const Tensor& applied, const Tensor& next, const Tensor& before);
// The parameter after a step along -`direction`, with decoupled weight decay (Loshchilov & Hutter 2019):
// p - learning_rate (weight_decay decay_scale p + direction), from the scalars "learning_rate" and "weight_decay".
Tensor decoupled_step(const OptimizerArgs& args, const Tensor& direction);

}  // namespace tenon
