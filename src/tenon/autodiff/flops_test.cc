#include "tenon/ir/flops.h"

#include <gtest/gtest.h>

#include "tenon/autodiff/functional.h"
#include "tenon/ir/op_def.h"
#include "tenon/ir/ops.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;

TEST(Flops, LoopsCountAsOftenAsTheyRun) {
  const std::vector<TensorType> types{{DType::f32, {2, 2}}, {DType::f32, {7, 2, 2}}};
  const Graph graph = make_graph(types, [](const Tensors& x) -> Tensors {
    const auto body = [](const Tensor&, const Tensor& h, const Tensor& w) {
      return std::pair<Tensor, Tensors>(matmul(h, w), {});
    };
    return {scan(body, x[0], x[1]).first};
  });
  const FlopCount count = count_flops_by_kind(*graph.trace, graph.root);
  EXPECT_EQ(count.products.at(DType::f32), 7 * 16);
  EXPECT_DOUBLE_EQ(count.total, count_flops(*graph.trace, graph.root));
}

}  // namespace
}  // namespace tenon
