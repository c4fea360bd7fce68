// FlashAttention against DotProductAttention, value and gradient, in the interpreter.
#include <gmock/gmock.h>

#include "tenon/autodiff/functional.h"
#include "tenon/config/define.h"
#include "tenon/config/validate.h"
#include "tenon/ir/cases/op_cases.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/attention/attention.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/testing/evaluate.h"

namespace tenon {
namespace {

using MaskSignature = Tensor(const MaskArgs&);

// Every key but those a multiple of three positions away, in any segment: nothing a kernel knows.
struct SkippingMask {
  TENON_FN()
  Tensor operator()(const MaskArgs& args) const {
    const Dims shape{args.query_positions.dim(0), args.query_positions.dim(1), args.key_positions.dim(1)};
    const Tensor apart = broadcast_to(expand_dims(args.query_positions, 2), shape) -
                         broadcast_to(expand_dims(args.key_positions, 1), shape);
    return logical_or(not_equal(rem(apart, full_like(apart, 3)), zeros_like(apart)), equal(apart, zeros_like(apart)));
  }
};
TENON_FN_TYPE(SkippingMask, MaskSignature, "for tests")

Values attention_inputs(int64_t num_heads, int64_t num_kv_heads) {
  const TensorType q{DType::f64, {2, num_heads, 7, 4}}, k{DType::f64, {2, num_kv_heads, 7, 4}};
  return {
      {"q", sample(q, -2, 2)},
      {"k", sample(k, -2, 2, 1)},
      {"v", sample(k, -2, 2, 2)},
      {"positions", Literal::from(DType::i32, {2, 7}, std::vector<int64_t>{0, 1, 2, 3, 0, 1, 2, 0, 1, 2, 3, 4, 5, 6})},
      {"segments", Literal::from(DType::i32, {2, 7}, std::vector<int64_t>{1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1})}};
}

// The context, and the gradient of a weighted sum of it.
Values attend(const AttentionCore& core, const Values& values) {
  return evaluate({}, values, [&](const Nest&, const Nest& in) {
    const MaskArgs args{in.at("positions"), in.at("positions"), in.at("segments"), in.at("segments")};
    const auto context = [&](const Nest& x) {
      return functional(core, &AttentionCore::forward, {}, Tensor(), true, Qkv{x.at("q"), x.at("k"), x.at("v")}, args)
          .result;
    };
    const Nest x{{"q", in.at("q")}, {"k", in.at("k")}, {"v", in.at("v")}};
    Nest out = grad(
        [&](const Nest& p) {
          const Tensor c = context(p);
          return sum_all(c * sin(convert(iota({DType::i32, c.dims()}, 3), c.dtype())));
        },
        x);
    out.emplace("context", context(x));
    return out;
  });
}

void expect_plain(const Mask& mask, int64_t num_heads, int64_t num_kv_heads, int64_t block_size) {
  DotProductAttention::Config plain;
  plain.head_dim = 4;
  plain.mask = mask;
  FlashAttention::Config flash;
  flash.head_dim = 4;
  flash.mask = mask;
  flash.block_size = block_size;
  const Values values = attention_inputs(num_heads, num_kv_heads);
  const Values want = attend(DotProductAttention(plain), values), got = attend(FlashAttention(flash), values);
  for (const auto& [name, value] : want) EXPECT_EQ(difference(got.at(name), value, 1e-12), "") << name;
}

TEST(FlashAttention, IsDotProductAttention) {
  for (const Mask& mask :
       {Mask(CausalMask{}), Mask(SegmentMask{}), Mask(SlidingWindowMask{2}), Mask(SkippingMask{}), Mask(PrefixMask{3}),
        Mask(AndMask{{CausalMask{}, BlockSparseMask{.block = 2, .stride = 2}}})}) {
    SCOPED_TRACE(mask.type()->name());
    expect_plain(mask, 2, 2, 512);
    expect_plain(mask, 4, 2, 3);
  }
}

TEST(FlashAttention, CapsLogits) {
  FlashAttention::Config config;
  DotProductAttention::Config plain;
  config.head_dim = plain.head_dim = 4;
  config.scale = plain.scale = 0.7;
  const auto context = [&](double cap) {
    config.logit_cap = plain.logit_cap = cap;
    const Values got = attend(FlashAttention(config), attention_inputs(2, 1));
    const Values want = attend(DotProductAttention(plain), attention_inputs(2, 1));
    for (const auto& [name, value] : want) EXPECT_EQ(difference(got.at(name), value, 1e-12), "") << name;
    return got.at("context");
  };
  const Literal without = context(0);
  EXPECT_EQ(difference(context(1e5), without, 1e-8), "");  // far above every logit
  EXPECT_NE(difference(context(0.5), without, 1e-2), "");
}

TEST(FlashAttention, RefusesWhatItCantCompute) {
  FlashAttention::Config config;
  config.head_dim = 4;
  config.num_heads = 2;
  config.bias = AlibiBias::Config();
  auto error = error_of([&] { build(config); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::unsupported);
  EXPECT_EQ(error->path(), "bias");
  config.bias.reset();
  config.dropout = 0.1;
  error = error_of([&] { build(config); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->path(), "dropout");
  EXPECT_THAT(std::string(error->what()), ::testing::HasSubstr("DotProductAttention"));
}

// A query that sees no key attends to nothing, in both.
TEST(FlashAttention, QueriesWithoutKeysGiveZeros) {
  Values values = attention_inputs(2, 2);
  for (int64_t i = 0; i < 7; ++i) values.at("positions").set_int(i, 5);
  const Mask nothing =
      AndMask{{SlidingWindowMask{1}, OrMask{{PrefixMask{0}, SkippingMask{}}}, BlockSparseMask{1, 0, 1}}};
  DotProductAttention::Config plain;
  FlashAttention::Config flash;
  plain.head_dim = flash.head_dim = 4;
  plain.mask = flash.mask = nothing;
  const Values want = attend(DotProductAttention(plain), values), got = attend(FlashAttention(flash), values);
  EXPECT_EQ(want.at("context").as_double(0), 0);
  for (const auto& [name, value] : want) EXPECT_EQ(difference(got.at(name), value, 1e-12), "") << name;
}

TEST(FlashAttention, MasksKernelsKnow) {
  EXPECT_EQ(mask_pattern(CausalMask{}), (MaskPattern{true, 0, true}));
  EXPECT_EQ(mask_pattern(SlidingWindowMask{5}), (MaskPattern{true, 5, true}));
  EXPECT_EQ(mask_pattern(SegmentMask{}), (MaskPattern{false, 0, true}));
  EXPECT_EQ(mask_pattern(SkippingMask{}), std::nullopt);
  EXPECT_EQ(mask_pattern(AndMask{{SlidingWindowMask{5}, SegmentMask{}, SlidingWindowMask{3}}}),
            (MaskPattern{true, 3, true}));
  EXPECT_EQ(mask_pattern(AndMask{{CausalMask{}, SkippingMask{}}}), std::nullopt);
  EXPECT_EQ(mask_pattern(OrMask{{CausalMask{}, CausalMask{}}}), std::nullopt);
}

TEST(FlashAttention, WrongShapesAreErrors) {
  FlashAttention::Config config;
  config.head_dim = 4;
  const FlashAttention core(config);
  const auto error = [&](int64_t num_heads, int64_t num_kv_heads) {
    return error_of([&] { attend(core, attention_inputs(num_heads, num_kv_heads)); });
  };
  EXPECT_EQ(error(3, 2)->code(), ErrorCode::shape_mismatch);
  config.head_dim = 8;
  const FlashAttention wide(config);
  EXPECT_EQ(error_of([&] { attend(wide, attention_inputs(2, 2)); })->code(), ErrorCode::shape_mismatch);
  config.head_dim = 4;
  config.num_heads = 2;
  config.mask = SlidingWindowMask{0};
  EXPECT_EQ(error_of([&] { attend(FlashAttention(config), attention_inputs(2, 2)); })->code(),
            ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] { validate(config); })->path(), "mask.window");
}

}  // namespace
}  // namespace tenon
