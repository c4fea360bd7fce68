// The parts of a model that a pipeline trains, as regions that can be repeated: in several loops, and in their
// gradients.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "tenon/nn/transformer/one_f_one_b.h"
#include "tenon/nn/transformer/pipeline_support.h"

namespace tenon {

class PipelinePart {
 public:
  // `f` as it is on values of these types.
  PipelinePart(Trace& trace, const std::vector<TensorType>& types,
               const std::function<StageOutput(const std::vector<Tensor>&)>& f);

  const std::vector<TensorType>& carry() const { return carry_; }
  const std::optional<TensorType>& loss() const { return loss_; }
  size_t num_collected() const { return num_collected_; }
  const std::vector<ValueId>& outside() const { return body_.outside(); }
  // Here, on other values.
  StageOutput operator()(const std::vector<Tensor>& args, const ValueMap& outside) const;

 private:
  std::vector<TensorType> carry_;
  std::optional<TensorType> loss_;
  size_t num_collected_ = 0;
  Repeatable body_;  // the last: making it sets the others
};

struct TracedParts {
  // A device's arrays [layers, …] have these types. The layers are a device's code, the ends aren't.
  TracedParts(Trace& trace, const Mesh& mesh, const std::vector<TensorType>& arrays, const PipelineParts& parts);

  PipelinePart begin;                 // microbatch -> carry
  PipelinePart stage;                 // microbatch, number of the first layer, arrays, carry -> carry, loss
  PipelinePart end;                   // microbatch, carry -> loss
  std::vector<ValueId> ends_outside;  // what begin or end uses
};

}  // namespace tenon
