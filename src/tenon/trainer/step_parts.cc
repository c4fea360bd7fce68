#include "tenon/trainer/step_parts.h"

#include <fmt/format.h>

#include "tenon/ir/random.h"
#include "tenon/optim/optimizer.h"

namespace tenon {

void append(std::vector<Tensor>& out, const std::vector<ParamInfo>& infos, const Nest& values) {
  for (const ParamInfo& info : infos) out.push_back(values.at(info.path));
}

Program finish(Graph& graph, const Mesh& mesh, const Signature& in, const Results& out, size_t num_donated,
               const KernelList& kernels, const PassObserver& observer) {
  return make_program(graph,
                      {mesh, in.specs, out.specs, in.names, num_donated, kernels, observer, in.memory, out.memory});
}

Nest select_by_name(const StateLayout& layout, const Nest& all, bool trainable) {
  Nest out;
  for (const ParamInfo& info : layout.model) {
    if (info.trainable == trainable) out.emplace(info.path, all.at(info.path));
  }
  return out;
}

void Metrics::add(std::string name, const Tensor& value) {
  Tensor flat = reshape(convert(value, DType::f32), {-1});
  for (int64_t i = 0; i < flat.dim(0); ++i) {
    names_.push_back(value.rank() == 0 ? name : fmt::format("{}.{}", name, i));
  }
  values_.push_back(std::move(flat));
}

void Metrics::add_each(const std::string& prefix, const std::vector<std::string>& names, const Tensor& values) {
  for (const std::string& name : names) names_.push_back(prefix + name);
  values_.push_back(slice_dim(convert(values, DType::f32), 0, 0, static_cast<int64_t>(names.size())));
}

void check_batch(const StepSettings& settings) {
  for (const auto& [name, type] : settings.batch) {
    const int64_t pieces = settings.mesh.shards(batch_partition().dims()[0]);
    if (settings.accumulation < 1 || type.dims[0] % (settings.accumulation * pieces) != 0) {
      throw Error(ErrorCode::mesh_mismatch, "the batch doesn't divide over the mesh")
          .at("data.batch_size")
          .got(fmt::format("{}", type.dims[0]))
          .expected(fmt::format("a multiple of {} (mesh axes data, expert and fsdp together {}, accumulation {})",
                                settings.accumulation * pieces, pieces, settings.accumulation));
    }
  }
}

std::vector<std::string> scalar_names(const Learner& learner) {
  std::vector<std::string> out;
  for (const auto& [name, value] : learner.scalars(0)) out.push_back(name);
  return out;
}

Nest unpack(const std::vector<std::string>& names, const Tensor& scalars) {
  Nest out;
  for (size_t i = 0; i < names.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    out.emplace(names[i], reshape(slice_dim(scalars, 0, at, at + 1), {}));
  }
  return out;
}

Tensor step_key(const Tensor& seed, const Tensor& step) { return fold_in(fold_in(seed, "train"), step); }

void split_for_update(const StateLayout& layout, Nest& params, Nest& grads) {
  for (const ParamInfo& info : layout.updated) {
    if (!info.trainable) continue;
    grads.at(info.path) = shard(grads.at(info.path), info.partition);
    params.at(info.path) = shard(params.at(info.path), info.partition);
  }
}

void append_model(std::vector<Tensor>& out, const StateLayout& layout, const Nest& before, const Nest& states,
                  const Learner::Update& update) {
  for (const ParamInfo& info : layout.model) {
    if (info.trainable) {
      out.push_back(update.values.at(info.path));
      continue;
    }
    const Tensor &old = before.at(info.path), &next = states.at(info.path);
    out.push_back(next.id() == old.id() ? old : keep_unless(update.applied, next, old));
  }
}

}  // namespace tenon
