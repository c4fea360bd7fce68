#include "tenon/nn/transformer/pipeline.h"

#include <fmt/format.h>

#include <utility>

#include "tenon/autodiff/functional.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/ops/manual.h"
#include "tenon/nn/transformer/pipeline_support.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;

// `manual` over one axis, whose body may use values from outside: all devices along the axis have them whole. Results
// behind those of `out_specs` are split as `more`.
Tensors manual_with_captures(const Mesh& mesh, const Tensors& inputs, const std::vector<PartitionSpec>& in_specs,
                             std::vector<PartitionSpec> out_specs, const PartitionSpec& more, const TensorFn& body) {
  Trace& trace = current_trace();
  std::vector<TensorType> types;
  for (size_t i = 0; i < inputs.size(); ++i) {
    types.push_back({inputs[i].dtype(), mesh.shard_dims(inputs[i].dims(), in_specs[i])});
  }
  const ManualAxes axes{mesh, {kPipelineAxis}};
  const RegionId open = [&] {
    const ManualScope scope(axes);
    return trace_region(trace, types, body);
  }();
  const Repeatable part(trace, open);
  Tensors all = inputs;
  std::vector<PartitionSpec> specs = in_specs;
  for (const ValueId v : part.outside()) all.push_back(trace.tensor(v));
  specs.resize(all.size());
  out_specs.resize(part.num_results(), more);
  return manual(mesh, all, specs, out_specs,
                [&](const Tensors& args) {
                  const auto first = args.begin() + static_cast<int64_t>(inputs.size());
                  return part({args.begin(), first}, mapped(part.outside(), {first, args.end()}));
                },
                {kPipelineAxis});
}

// The loop that one device runs.
class Pipeline {
 public:
  Pipeline(const Mesh& mesh, const PipelineConfig& config, int64_t num_layers)
      : stages_(mesh.size(kPipelineAxis)),
        microbatches_(config.microbatches),
        rounds_(config.rounds),
        layers_(num_layers / (stages_ * rounds_)),
        steps_(microbatches_ * rounds_ + stages_ - 1) {}

  // `arrays` [rounds, 1, layers, …]; `carry` [M, B / M, …]. Returns the carry at the end, then what was collected,
  // [rounds, 1, M, layers, …].
  Tensors run(const Tensor& stage, const Tensors& arrays, const Tensors& carry, const StageFn& compute) const {
    Tensors start;  // what comes from the device before; going around, also what the first device still has to do
    for (const Tensor& x : carry) start.push_back(zeros({x.dtype(), {x.dims().begin() + 1, x.dims().end()}}));
    if (rounds_ > 1) start.insert(start.end(), carry.begin(), carry.end());
    const auto body = [&](const Tensor& time, const Tensors& loop, const Tensors&) {
      const Tensors received(loop.begin(), loop.begin() + static_cast<int64_t>(carry.size()));
      const Tensors waiting =
          rounds_ > 1 ? put_back(time, received, {loop.begin() + static_cast<int64_t>(carry.size()), loop.end()})
                      : carry;
      const Tensor since = clamped(time - stage, microbatches_ * rounds_ - 1);
      const Tensor microbatch = rem(since, full_like(since, static_cast<double>(microbatches_)));
      const Tensor round = since / static_cast<double>(microbatches_);
      StageInput in{{}, (round * static_cast<double>(stages_) + stage) * static_cast<double>(layers_), microbatch, {}};
      for (const Tensor& a : arrays) in.arrays.push_back(of_round(a, round));
      const Tensor first = equal(stage, zeros_like(stage));
      for (size_t i = 0; i < carry.size(); ++i) {
        in.carry.push_back(choose(first, dynamic_index(waiting[i], microbatch), received[i]));
      }
      StageOutput out = compute(in);
      Tensors next, made = out.carry;
      for (const Tensor& x : out.carry) next.push_back(collective_permute(x, kPipelineAxis, hops()));
      if (rounds_ > 1) next.insert(next.end(), waiting.begin(), waiting.end());
      made.insert(made.end(), out.collected.begin(), out.collected.end());
      return std::pair(std::move(next), std::move(made));
    };
    const Tensors made = scan(body, start, Tensors{}, steps_).second;
    Tensors out;
    const Tensor last = equal(stage, full_like(stage, static_cast<double>(stages_ - 1)));
    for (size_t i = 0; i < carry.size(); ++i) {
      const Tensor x = slice_dim(made[i], 0, steps_ - microbatches_, steps_);
      out.push_back(all_reduce_sum(choose(last, x, zeros_like(x)), kPipelineAxis));
    }
    for (size_t i = carry.size(); i < made.size(); ++i) out.push_back(collected(stage, made[i]));
    return out;
  }

 private:
  std::vector<std::pair<int64_t, int64_t>> hops() const {
    std::vector<std::pair<int64_t, int64_t>> out;
    for (int64_t s = 0; s + 1 < stages_ + (rounds_ > 1 ? 1 : 0); ++s) out.emplace_back(s, (s + 1) % stages_);
    return out;
  }
  // [rounds, 1, layers, …] -> [layers, …].
  Tensor of_round(const Tensor& a, const Tensor& round) const {
    return squeeze(rounds_ == 1 ? squeeze(a, 0) : dynamic_index(a, round), 0);
  }
  // What arrives at the first device comes from the last, and is the microbatch of `stages_` steps ago.
  Tensors put_back(const Tensor& time, const Tensors& received, const Tensors& waiting) const {
    const Tensor since = time - static_cast<double>(stages_), arrived = greater_equal(since, zeros_like(since));
    const Tensor place = rem(maximum(since, zeros_like(since)), full_like(since, static_cast<double>(microbatches_)));
    Tensors out;
    for (size_t i = 0; i < waiting.size(); ++i) {
      const Tensor kept = choose(arrived, received[i], dynamic_index(waiting[i], place));
      out.push_back(dynamic_update_index(waiting[i], kept, place));
    }
    return out;
  }
  // Of all steps [steps, layers, …], those in which the device had something to do.
  Tensor collected(const Tensor& stage, const Tensor& made) const {
    Dims shape{rounds_, 1, microbatches_};
    shape.insert(shape.end(), made.dims().begin() + 1, made.dims().end());
    return reshape(entries_from(made, stage, microbatches_ * rounds_), shape);
  }

  int64_t stages_, microbatches_, rounds_, layers_, steps_;
};

}  // namespace

bool PipelineConfig::takes_loss(const Mesh& mesh) const {
  return schedule == PipelineSchedule::one_f_one_b && mesh.size(kPipelineAxis) > 1;
}

void PipelineConfig::check(Checker& c) const {
  c.positive("microbatches", microbatches);
  c.positive("rounds", rounds);
  c.require(schedule == PipelineSchedule::gpipe || rounds == 1, "rounds", "must be 1 with schedule = \"one_f_one_b\"");
}

Tensor split_microbatches(const Tensor& x, int64_t microbatches) {
  check_microbatches(x.dim(0), microbatches);
  Dims dims = x.dims(), order{1, 0};
  dims[0] /= microbatches;
  dims.insert(dims.begin() + 1, microbatches);
  for (int64_t d = 2; d < static_cast<int64_t>(dims.size()); ++d) order.push_back(d);
  return transpose(reshape(x, dims), order);
}

Tensor join_microbatches(const Tensor& x) {
  Dims order{1, 0}, dims{x.dim(0) * x.dim(1)};
  for (int64_t d = 2; d < x.rank(); ++d) order.push_back(d), dims.push_back(x.dim(d));
  return reshape(transpose(x, order), dims);
}

PipelineOutput run_pipeline(const Mesh& mesh, const PipelineConfig& config, int64_t num_layers, const Tensors& arrays,
                            const Tensors& carry, const StageFn& stage) {
  check_pipeline(mesh, config, num_layers);
  const int64_t stages = mesh.size(kPipelineAxis);
  const Pipeline pipeline(mesh, config, num_layers);
  const PartitionSpec by_stages{{}, kPipelineAxis};
  Tensors inputs{iota({DType::i32, {stages}}, 0)}, microbatches;
  std::vector<PartitionSpec> in_specs{{kPipelineAxis}};
  for (const Tensor& a : arrays) {
    inputs.push_back(split_layers(a, {config.rounds, stages}));
    in_specs.push_back(by_stages);
  }
  for (const Tensor& x : carry) microbatches.push_back(split_microbatches(x, config.microbatches));
  std::vector<PartitionSpec> out_specs(carry.size());
  const auto body = [&](const Tensors& t) {
    const Tensor place = reshape(t[0], {});
    return pipeline.run(place, {t.begin() + 1, t.end()}, microbatches, stage);
  };
  const Tensors out = manual_with_captures(mesh, inputs, in_specs, out_specs, by_stages, body);
  PipelineOutput result;
  for (size_t i = 0; i < carry.size(); ++i) result.carry.push_back(join_microbatches(out[i]));
  for (size_t i = carry.size(); i < out.size(); ++i) result.collected.push_back(by_microbatch(out[i], 2));
  return result;
}

}  // namespace tenon
