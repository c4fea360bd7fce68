#include "tenon/nn/transformer/pipeline_parts.h"

#include <algorithm>

#include "tenon/ir/ops/manual.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;
using Types = std::vector<TensorType>;

const TensorType kNumber{DType::i32, {}};

Types joined(Types first, const Types& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

StageInput stage_input(const Tensors& t, size_t num_arrays) {
  const auto carry = t.begin() + 2 + static_cast<int64_t>(num_arrays);
  return {{t.begin() + 2, carry}, t[1], t[0], {carry, t.end()}};
}

}  // namespace

PipelinePart::PipelinePart(Trace& trace, const Types& types, const std::function<StageOutput(const Tensors&)>& f)
    : body_(trace, trace_region(trace, types, [&](const Tensors& args) {
              const StageOutput out = f(args);
              Tensors all = out.carry;
              for (const Tensor& t : out.carry) carry_.push_back(t.type());
              if (out.loss) {
                loss_ = out.loss.type();
                all.push_back(out.loss);
              }
              num_collected_ = out.collected.size();
              all.insert(all.end(), out.collected.begin(), out.collected.end());
              return all;
            })) {}

StageOutput PipelinePart::operator()(const Tensors& args, const ValueMap& outside) const {
  const Tensors all = body_(args, outside);
  const auto carry_end = all.begin() + static_cast<int64_t>(carry_.size());
  const auto collected = all.end() - static_cast<int64_t>(num_collected_);
  return {{all.begin(), carry_end}, {collected, all.end()}, loss_ ? *carry_end : Tensor()};
}

TracedParts::TracedParts(Trace& trace, const Mesh& mesh, const Types& arrays, const PipelineParts& parts)
    : begin(trace, {kNumber}, [&](const Tensors& t) { return parts.begin(t[0]); }),
      stage(trace, joined(joined({kNumber, kNumber}, arrays), begin.carry()),
            [&](const Tensors& t) {
              const ManualAxes axes{mesh, {kPipelineAxis}};
              const ManualScope scope(axes);
              return parts.stage(stage_input(t, arrays.size()));
            }),
      end(trace, joined({kNumber}, begin.carry()),
          [&](const Tensors& t) { return parts.end(t[0], {t.begin() + 1, t.end()}); }) {
  for (const PipelinePart* part : {&begin, &end}) {
    for (const ValueId v : part->outside()) {
      if (std::find(ends_outside.begin(), ends_outside.end(), v) == ends_outside.end()) ends_outside.push_back(v);
    }
  }
}

}  // namespace tenon
