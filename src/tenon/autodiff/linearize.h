// Reverse-mode differentiation of one region at the current place of a trace.
#pragma once

#include <functional>
#include <unordered_set>
#include <vector>

#include "tenon/ir/trace.h"

namespace tenon {

struct Cotangents {
  std::vector<Tensor> params;    // one per parameter; empty: zero or not active
  std::vector<Tensor> captures;  // one per capture asked for
};

// Repeats a region's ops here and can then emit the ops of its derivative.
//
// Only floats are active: a value is, when it depends on an active parameter or capture through ops that are not
// stop_gradient. An active value that an op without a gradient used throws `not_differentiable` with the module path.
class Linearizer {
 public:
  // `args` stand for the parameters; `captures` are values outside `region` whose cotangents are wanted.
  Linearizer(Trace& trace, RegionId region, std::span<const Tensor> args, const std::vector<bool>& active_params,
             const std::vector<ValueId>& captures);

  const std::vector<Tensor>& results() const { return results_; }
  // Which results depend on something active.
  const std::vector<bool>& active_results() const { return active_results_; }
  // Emits the derivative for one cotangent per result (empty: zero).
  Cotangents pull(const std::vector<Tensor>& cotangents);

  // Turns cotangents of results into those of operands and of captured values.
  struct Pulled {
    std::vector<Tensor> operands;
    std::vector<std::pair<ValueId, Tensor>> captured;
  };
  using Pullback = std::function<Pulled(const std::vector<Tensor>&)>;

 private:
  struct Step {
    OpId op;
    std::vector<Tensor> results;
    Pullback pullback;  // empty: the op's own vjp
  };

  void forward(OpId id, ValueMap& map);
  Pulled pull_op(const Step& step, const std::vector<Tensor>& cts);
  void accumulate(ValueId value, const Tensor& ct);
  bool is_active(ValueId v) const { return active_.contains(v); }
  bool any_active(const OpInfo& op) const;

  Trace& trace_;
  std::vector<ValueId> args_, captures_;
  std::vector<Tensor> results_;
  std::vector<bool> active_results_;
  std::unordered_set<ValueId> active_;
  std::vector<Step> steps_;
  std::unordered_map<ValueId, Tensor> cts_;
};

}  // namespace tenon
