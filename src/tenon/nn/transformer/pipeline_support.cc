#include "tenon/nn/transformer/pipeline_support.h"

#include <fmt/format.h>

#include "tenon/ir/mesh_scope.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/ops/manual.h"
#include "tenon/nn/transformer/pipeline.h"

namespace tenon {

void check_microbatches(int64_t rows, int64_t microbatches) {
  const int64_t devices = program_mesh().shards({"data", "expert", "fsdp"});
  if (rows % (microbatches * devices) == 0) return;
  throw Error(ErrorCode::mesh_mismatch, "the rows of a batch don't divide into a pipeline's microbatches over the mesh")
      .at(fmt::format("{}.pipeline.microbatches", current_trace().path()))
      .got(fmt::format("{} rows in {} microbatches, each over {} devices (mesh axes data, expert and fsdp together)",
                       rows, microbatches, devices))
      .expected(fmt::format("a multiple of {} rows", microbatches * devices))
      .hint("raise data.batch_size, or lower pipeline.microbatches, accumulation or these axes");
}

void check_pipeline(const Mesh& mesh, const PipelineConfig& config, int64_t num_layers) {
  if (manual_scope() != nullptr) {
    throw Error(ErrorCode::unsupported, "a pipeline inside a manual region").at(std::string(current_trace().path()));
  }
  const int64_t stages = mesh.size(kPipelineAxis);
  if (num_layers % (stages * config.rounds) != 0) {
    throw Error(ErrorCode::mesh_mismatch, "layers don't divide over the pipeline")
        .at(std::string(current_trace().path()))
        .got(fmt::format("{} over {}", num_layers, stages * config.rounds))
        .hint("choose a mesh axis 'pipeline' (times pipeline.rounds) that divides them");
  }
  if (config.rounds > 1 && config.microbatches < stages) {
    throw Error(ErrorCode::mesh_mismatch, "a pipeline of several rounds needs a microbatch for each of its stages")
        .at(std::string(current_trace().path()))
        .got(fmt::format("{} microbatches over {} stages", config.microbatches, stages))
        .hint("raise pipeline.microbatches, or set pipeline.rounds = 1");
  }
}

Tensor clamped(const Tensor& x, int64_t last) {
  return maximum(minimum(x, full_like(x, static_cast<double>(last))), zeros_like(x));
}

Tensor choose(const Tensor& condition, const Tensor& yes, const Tensor& no) {
  return select(broadcast_to(condition, yes.dims()), yes, no);
}

Tensor split_layers(const Tensor& x, const Dims& parts) {
  Dims dims = parts;
  dims.push_back(x.dim(0) / num_elements(parts));
  dims.insert(dims.end(), x.dims().begin() + 1, x.dims().end());
  return reshape(x, dims);
}

Tensor by_microbatch(const Tensor& x, int64_t num_parts) {
  Dims order{num_parts}, dims{x.dim(num_parts), x.dim(num_parts + 1)};
  for (int64_t d = 0; d < num_parts; ++d) order.push_back(d), dims[1] *= x.dim(d);
  order.push_back(num_parts + 1);
  for (int64_t d = num_parts + 2; d < x.rank(); ++d) order.push_back(d), dims.push_back(x.dim(d));
  return reshape(transpose(x, order), dims);
}

Tensor entries_from(const Tensor& x, const Tensor& start, int64_t count) {
  Dims sizes = x.dims();
  sizes[0] = count;
  std::vector<Tensor> from(sizes.size(), zeros_like(start));
  from[0] = start;
  return dynamic_slice(x, from, sizes);
}

ValueMap mapped(const std::vector<ValueId>& from, const std::vector<Tensor>& to) {
  check(from.size() == to.size(), "a tensor for each value");
  ValueMap out;
  for (size_t i = 0; i < to.size(); ++i) out.set(from[i], to[i]);
  return out;
}

std::vector<Tensor> Repeatable::operator()(const std::vector<Tensor>& args, const ValueMap& outside) const {
  const RegionInfo& info = trace_.region(region_);
  check(args.size() == info.params.size(), "one argument for each parameter of a region");
  ValueMap map = outside;
  for (size_t i = 0; i < args.size(); ++i) map.set(info.params[i], args[i]);
  for (const OpId op : info.ops) clone_op(trace_, op, map);
  std::vector<Tensor> out;
  for (const ValueId v : info.results) out.push_back(map(trace_, v));
  return out;
}

}  // namespace tenon
