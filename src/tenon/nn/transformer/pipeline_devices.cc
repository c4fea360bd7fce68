#include "tenon/nn/transformer/pipeline_devices.h"

#include "tenon/ir/ops.h"
#include "tenon/ir/ops/manual.h"
#include "tenon/nn/transformer/pipeline_support.h"

namespace tenon {

namespace {
using Tensors = std::vector<Tensor>;
}

void extend(Tensors& to, const Tensors& more) { to.insert(to.end(), more.begin(), more.end()); }

Tensors TensorReader::take(size_t count) {
  check(next_ + count <= all_.size(), "as many tensors as are read");
  const auto begin = all_.begin() + static_cast<int64_t>(next_);
  next_ += count;
  return {begin, begin + static_cast<int64_t>(count)};
}

DeviceArrays on_devices(const Mesh& mesh, const DeviceArrays& inputs, size_t num_own, size_t num_common,
                        const std::function<DeviceArrays(const DeviceArrays&)>& body) {
  const PartitionSpec split{kPipelineAxis};
  std::vector<PartitionSpec> in(inputs.own.size(), split), out(num_own, split);
  Tensors all = inputs.own;
  extend(all, inputs.common);
  in.resize(all.size());
  out.resize(num_own + num_common);
  const auto device = [&](const Tensors& pieces) {
    TensorReader reader(pieces);
    DeviceArrays mine{reader.take(inputs.own.size()), reader.rest()};
    for (Tensor& x : mine.own) x = squeeze(x, 0);
    const DeviceArrays made = body(mine);
    check(made.own.size() == num_own && made.common.size() == num_common, "the results of a device");
    Tensors results;
    for (const Tensor& x : made.own) results.push_back(expand_dims(x, 0));
    extend(results, made.common);
    return results;
  };
  const Tensors results = manual(mesh, all, in, out, device, {kPipelineAxis});
  TensorReader reader(results);
  return {reader.take(num_own), reader.rest()};
}

}  // namespace tenon
