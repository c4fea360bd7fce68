#include "tenon/ir/flops.h"

#include <gtest/gtest.h>

#include "tenon/ir/op_def.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/ops/custom_vjp.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;

FlopCount count(const std::vector<TensorType>& params, const TensorFn& body) {
  const Graph graph = make_graph(params, body);
  const FlopCount out = count_flops_by_kind(*graph.trace, graph.root);
  EXPECT_DOUBLE_EQ(out.total, count_flops(*graph.trace, graph.root));
  return out;
}

const std::vector<TensorType> kMatrices{{DType::f32, {3, 4}}, {DType::bf16, {4, 5}}};

TEST(Flops, ProductsByDtype) {
  const FlopCount c = count(kMatrices, [](const Tensors& x) -> Tensors {
    return {matmul(x[0], convert(x[1], DType::f32)), matmul(convert(x[0], DType::bf16), x[1]), exp(x[0])};
  });
  EXPECT_EQ(c.products.at(DType::f32), 120);
  EXPECT_EQ(c.products.at(DType::bf16), 120);
  EXPECT_EQ(c.total, 240 + 12 + 20 + 12);  // and exp and conversions, one an element
  EXPECT_EQ(c.all_products(), 240);
  EXPECT_EQ(c.attention, 0);
}

TEST(Flops, ProductsOfWhatWasWidenedFromEightBits) {
  const std::vector<TensorType> params{{DType::f8e5m2, {3, 4}}, {DType::f8e4m3fn, {4, 5}}, {DType::bf16, {4, 5}}};
  const FlopCount c = count(params, [](const Tensors& x) -> Tensors {
    const Tensor a = convert(x[0], DType::bf16);
    return {matmul(a, convert(x[1], DType::bf16)), matmul(a, x[2])};
  });
  EXPECT_EQ(c.products.at(DType::f8e5m2), 120);
  EXPECT_EQ(c.products.at(DType::bf16), 120);
}

// Not its backward function, which here is dearer and of other kinds.
TEST(Flops, OfACustomDerivativeItsValue) {
  const CustomVjp rule{[](const Tensors& x) { return CustomVjp::Forward{{exp(matmul(x[0], x[1]))}, x}; },
                       [](const Tensors& saved, const Tensors& cts) -> Tensors {
                         const Tensor ct = exp(exp(exp(cts[0])));
                         return {matmul(ct, transpose(saved[1], {1, 0})), matmul(transpose(saved[0], {1, 0}), ct)};
                       }};
  const FlopCount c = count({{DType::f32, {3, 4}}, {DType::f32, {4, 5}}},
                            [&](const Tensors& x) -> Tensors { return custom_vjp(x, rule); });
  EXPECT_EQ(c.all_products(), 120);
  EXPECT_EQ(c.total, 120 + 15);
}

// [B,N,T,H] queries, 4 T S H a head; pairs counted by hand.
TEST(Flops, AttentionInBothConventions) {
  const auto attend = [](int64_t T, bool causal, int64_t window) {
    const TensorType q{DType::bf16, {1, 2, T, 8}}, places{DType::i32, {1, T}};
    return count({q, q, q, places}, [&](const Tensors& x) -> Tensors {
      AttentionOptions options;
      options.pattern = {.causal = causal, .window = window, .segments = false};
      return {attention({x[0], x[1], x[2], x[3], x[3], x[3], x[3]}, options).context};
    });
  };
  const FlopCount causal = attend(4, true, 0);
  EXPECT_EQ(causal.attention, 4 * 2 * 4 * 4 * 8);
  EXPECT_EQ(causal.attention_unmasked, causal.attention * 10 / 16);
  EXPECT_EQ(causal.products.at(DType::bf16), causal.attention);
  EXPECT_EQ(causal.total_unmasked(), causal.attention_unmasked);
  EXPECT_EQ(causal.unmasked_products(), causal.attention_unmasked);
  EXPECT_EQ(attend(4, true, 2).attention_unmasked, causal.attention * 7 / 16);
  EXPECT_EQ(attend(4, false, 0).attention_unmasked, causal.attention);
}

TEST(Flops, PairsOfMasks) {
  EXPECT_EQ(unmasked_pairs(4, 4, true, 0), 10);
  EXPECT_EQ(unmasked_pairs(1, 8, true, 0), 8);  // decoding
  EXPECT_EQ(unmasked_pairs(2, 8, true, 3), 6);
  EXPECT_EQ(unmasked_pairs(4, 4, false, 2), 10);  // a band of three
  EXPECT_EQ(unmasked_pairs(0, 4, true, 0), 0);
}

}  // namespace
}  // namespace tenon
