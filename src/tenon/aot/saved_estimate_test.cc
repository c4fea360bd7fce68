#include "tenon/aot/saved_estimate.h"

#include <gtest/gtest.h>

#include "tenon/autodiff/functional.h"
#include "tenon/autodiff/remat.h"
#include "tenon/ir/ops.h"

namespace tenon {
namespace {

// Four layers, h = tanh(h w) with h of [2,3], and their gradient.
PeakMemory kept_by(const RematPolicy& policy, int64_t num_devices) {
  const std::vector<TensorType> types{{DType::f32, {2, 3}}, {DType::f32, {4, 3, 3}}};
  const TensorFn loss = [&](const std::vector<Tensor>& p) {
    const auto layer = [&](const Tensor&, const Tensor& h, const Tensor& w) {
      const RematScope scope(policy);
      current_trace().set_path("layers.dot");
      const Tensor product = tag(matmul(h, w), "product");
      current_trace().set_path("layers.tanh");
      return std::pair<Tensor, std::vector<Tensor>>(tanh(product), {});
    };
    return std::vector<Tensor>{sum_all(scan(layer, p[0], p[1]).first)};
  };
  const Graph graph = make_graph(types, [&](const std::vector<Tensor>& p) {
    const Vjp forward = vjp(loss, p, {true, true});
    return forward.pull({scalar_seed(forward.results[0])});
  });
  return estimate_saved(graph, num_devices);
}

constexpr int64_t kStack = 4 * 2 * 3 * 4;

TEST(SavedEstimate, IsWhatOneLoopStacksAndAnotherReads) {
  const PeakMemory inputs = kept_by(SaveNothing{}, 1);
  EXPECT_EQ(inputs.bytes, kStack);
  ASSERT_EQ(inputs.buffers.size(), 1U);
  EXPECT_EQ(inputs.buffers[0].op, "layers.tanh/tanh") << "a layer's input is what the layer before made";
  EXPECT_EQ(inputs.buffers[0].role, BufferRole::saved_activation);

  const PeakMemory products = kept_by(SaveTags{.device = {"product"}}, 1);
  EXPECT_EQ(products.bytes, 2 * kStack);
  ASSERT_EQ(products.buffers.size(), 2U);
  EXPECT_TRUE(products.buffers[0].op.starts_with("layers.dot/") || products.buffers[1].op.starts_with("layers.dot/"));
}

TEST(SavedEstimate, IsSplitOverAllDevices) { EXPECT_EQ(kept_by(SaveNothing{}, 8).bytes, kStack / 8); }

}  // namespace
}  // namespace tenon
