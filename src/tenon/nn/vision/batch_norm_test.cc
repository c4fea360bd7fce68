// Values against torch are in tests/models/vision_fixture_test.cc.
#include "tenon/nn/vision/batch_norm.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tenon/config/validate.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/testing/evaluate.h"

namespace tenon {
namespace {

using testing::HasSubstr;

BatchNorm::Config config(int64_t dim) {
  BatchNorm::Config c;
  c.input_dim = dim;
  return c;
}

// "y", and "updates.<state>".
Values run(const BatchNorm& norm, const Values& state, const Literal& x, bool training) {
  return evaluate(state, {{"x", x}}, [&](const Nest& s, const Nest& i) {
    const auto [y, collected] = functional(norm, &BatchNorm::forward, s, Tensor(), training, i.at("x"));
    Nest out = flatten_collected(collected);
    out.emplace("y", y);
    return out;
  });
}

TEST(BatchNorm, StartsWithNoMeanAndUnitVariance) {
  const Values state = initial_values(BatchNorm(config(2)), 1);
  EXPECT_EQ(state.at("mean").to_doubles(), (std::vector<double>{0, 0}));
  EXPECT_EQ(state.at("variance").to_doubles(), (std::vector<double>{1, 1}));
  EXPECT_EQ(state.at("scale").to_doubles(), (std::vector<double>{1, 1}));
  BatchNorm::Config zero = config(2);
  zero.initial_scale = 0;
  EXPECT_EQ(initial_values(BatchNorm(zero), 1).at("scale").to_doubles(), (std::vector<double>{0, 0}));
}

TEST(BatchNorm, TrainsOnTheBatchAndKeepsRunningMoments) {
  const BatchNorm norm(config(1));
  Values state = initial_values(norm, 1);
  // Mean 3, variance 8 / 3 of the batch, 4 without bias.
  const Literal x = Literal::from(DType::f32, {3, 1}, std::vector<double>{1, 3, 5});
  const Values got = run(norm, state, x, true);
  EXPECT_NEAR(got.at("y").as_double(2), 2 / std::sqrt(8.0 / 3 + 1e-5), 1e-6);
  EXPECT_NEAR(got.at("updates.mean").as_double(0), 0.3, 1e-6);
  EXPECT_NEAR(got.at("updates.variance").as_double(0), 0.9 + 0.4, 1e-6);

  state["mean"] = got.at("updates.mean");
  state["variance"] = got.at("updates.variance");
  const Values evaluated = run(norm, state, x, false);
  EXPECT_EQ(evaluated.size(), 1U);  // no updates
  EXPECT_NEAR(evaluated.at("y").as_double(2), (5 - 0.3) / std::sqrt(1.3 + 1e-5), 1e-6);
}

TEST(BatchNorm, KeepsTheMomentsOfHalfPrecisionInFull) {
  const BatchNorm norm(config(1));
  // bf16 can't tell 256 from 257.
  const Literal x = Literal::from(DType::bf16, {2, 1}, std::vector<double>{256, 258});
  const Values got = run(norm, initial_values(norm, 1), x, true);
  EXPECT_EQ(got.at("y").dtype(), DType::bf16);
  EXPECT_NEAR(got.at("updates.mean").as_double(0), 25.7, 1e-4);
  EXPECT_EQ(got.at("y").to_doubles(), (std::vector<double>{-1, 1}));
}

TEST(BatchNorm, RefusesOneExampleAndOtherShapes) {
  const BatchNorm norm(config(2));
  const Values state = initial_values(norm, 1);
  const Literal one(TensorType{DType::f32, {1, 2}});
  EXPECT_EQ(run(norm, state, one, false).at("y").to_doubles(), (std::vector<double>{0, 0}));
  EXPECT_THAT(error_text([&] { run(norm, state, one, true); }), HasSubstr("one element a channel"));
  EXPECT_THAT(error_text([&] { run(norm, state, Literal(TensorType{DType::f32, {4, 3}}), true); }),
              HasSubstr("isn't input_dim"));
  BatchNorm::Config c = config(2);
  c.momentum = 1;
  EXPECT_THAT(error_text([&] { validate(c); }), HasSubstr("momentum: must be at least 0 and below 1, is "));
}

}  // namespace
}  // namespace tenon
