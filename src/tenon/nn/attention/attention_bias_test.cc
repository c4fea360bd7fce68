#include "tenon/nn/attention/attention_bias.h"

#include <gmock/gmock.h>

#include "tenon/autodiff/functional.h"
#include "tenon/config/validate.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/random.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/attention/attention_core.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/testing/evaluate.h"

namespace tenon {
namespace {

// As the paper lists them, and for a number of heads that is no power of two.
TEST(AlibiBias, Slopes) {
  EXPECT_THAT(AlibiBias::slopes(4), ::testing::ElementsAre(0.25, 0.0625, 0.015625, 0.00390625));
  EXPECT_THAT(AlibiBias::slopes(1), ::testing::ElementsAre(0.00390625));
  EXPECT_THAT(AlibiBias::slopes(6),
              ::testing::ElementsAre(0.25, 0.0625, 0.015625, 0.00390625, 0.5, ::testing::DoubleEq(0.125)));
}

// The gradient of a learned bias through attention, against central differences.
TEST(RelativeBias, GradientThroughAttention) {
  RelativeBias::Config bias;
  bias.num_buckets = 4;
  bias.max_distance = 5;
  DotProductAttention::Config config;
  config.head_dim = 3;
  config.num_heads = 2;
  config.bias = bias;
  config.logit_cap = 2;
  config.sink = true;
  config.compute_dtype = DType::f64;
  const DotProductAttention core(config);
  Values state = initial_values(core, 1);
  for (auto& [name, value] : state) value = Literal::from(DType::f64, value.dims(), value.to_doubles());
  const auto loss = [&](const Nest& s) {
    const Tensor x =
        sin(convert(iota({DType::i32, {1, 2, 6, 3}}, 2) * 3.0 + iota({DType::i32, {1, 2, 6, 3}}, 3), DType::f64));
    const Tensor positions = iota({DType::i32, {1, 6}}, 1), segments = zeros_like(positions);
    const MaskArgs args{positions, positions, segments, segments};
    const Tensor y = functional(core, &AttentionCore::forward, s, Tensor(), true, Qkv{x, cos(x), x + 1.0}, args).result;
    return sum_all(y * cos(x * 2.0));
  };
  const Values grads = evaluate(state, {}, [&](const Nest& s, const Nest&) { return grad(loss, s); });
  for (const auto& [name, value] : state) {
    for (int64_t i = 0; i < value.size(); ++i) {
      const auto moved = [&](double by) {
        Values other = state;
        std::vector<double> numbers = value.to_doubles();
        numbers[static_cast<size_t>(i)] += by;
        other.at(name) = Literal::from(DType::f64, value.dims(), numbers);
        return evaluate(other, {}, [&](const Nest& s, const Nest&) { return Nest{{"", loss(s)}}; }).at("").as_double(0);
      };
      EXPECT_NEAR(grads.at(name).as_double(i), (moved(1e-5) - moved(-1e-5)) / 2e-5, 1e-8) << name << " " << i;
    }
  }
  EXPECT_NE(grads.at("bias.weight").as_double(0), 0);
}

TEST(RelativeBias, BucketsAreChecked) {
  const auto path = [](int64_t num_buckets, int64_t max_distance, bool bidirectional) {
    RelativeBias::Config c;
    c.num_heads = 2;
    c.num_buckets = num_buckets;
    c.max_distance = max_distance;
    c.bidirectional = bidirectional;
    const auto error = error_of([&] { validate(c); });
    return error ? error->path() : "";
  };
  EXPECT_EQ(path(2, 2, false), "");
  EXPECT_EQ(path(1, 2, false), "num_buckets");
  EXPECT_EQ(path(7, 128, true), "num_buckets");
  EXPECT_EQ(path(32, 16, false), "max_distance");
  EXPECT_EQ(path(32, int64_t{1} << 40, false), "max_distance");
}

// Dropped weights don't change what attention gives on average.
TEST(DotProductAttention, DropsWeightsInTraining) {
  DotProductAttention::Config config;
  config.head_dim = 2;
  config.num_heads = 32;
  config.mask = SegmentMask{};
  config.dropout = 0.5;
  const DotProductAttention core(config);
  const auto run = [&](bool training) {
    return evaluate(
               {}, {},
               [&](const Nest& s, const Nest&) {
                 const Tensor x = full({DType::f32, {1, 32, 16, 2}}, 1);
                 const Tensor positions = iota({DType::i32, {1, 16}}, 1), segments = zeros_like(positions);
                 const MaskArgs args{positions, positions, segments, segments};
                 return Nest{
                     {"",
                      functional(core, &AttentionCore::forward, s, make_key(1), training, Qkv{x, x, x}, args).result}};
               })
        .at("")
        .to_doubles();
  };
  for (double x : run(false)) EXPECT_NEAR(x, 1, 1e-6);
  double sum = 0;
  const std::vector<double> trained = run(true);
  for (double x : trained) sum += x;
  EXPECT_NEAR(sum / static_cast<double>(trained.size()), 1, 0.04);
  EXPECT_GT(std::fabs(trained[0] - 1), 1e-3);
}

}  // namespace
}  // namespace tenon
