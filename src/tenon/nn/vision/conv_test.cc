// What isn't compared with torch in tests/models: padding, shapes, errors.
#include "tenon/nn/vision/conv.h"

#include <gmock/gmock.h>

#include "tenon/config/validate.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/testing/evaluate.h"
#include "tenon/nn/vision/pool.h"

namespace tenon {
namespace {

using testing::HasSubstr;

Literal ones(const Dims& dims) {
  return Literal::from(DType::f32, dims, std::vector<double>(static_cast<size_t>(num_elements(dims)), 1));
}

Conv2D::Config config(const Padding& padding, std::vector<int64_t> strides) {
  Conv2D::Config c;
  c.input_dim = c.output_dim = 1;
  c.padding = padding;
  c.strides = std::move(strides);
  return c;
}

// The sums of 3 x 3 windows over an image of ones: how much of each lies inside.
Literal sums(const Conv2D::Config& c, int64_t height, int64_t width) {
  const Conv2D conv(c);
  return evaluate({{"weight", ones({3, 3, 1, 1})}}, {{"x", ones({1, height, width, 1})}},
                  [&](const Nest& s, const Nest& i) {
                    return Nest{{"y", functional(conv, &Conv2D::forward, s, Tensor(), false, i.at("x")).result}};
                  })
      .at("y");
}

TEST(Conv2D, PadsAsItIsTold) {
  EXPECT_EQ(sums(config(ValidPadding{}, {1, 1}), 3, 4),
            Literal::from(DType::f32, {1, 1, 2, 1}, std::vector<double>{9, 9}));
  EXPECT_EQ(sums(config(SamePadding{}, {1, 1}), 1, 3),
            Literal::from(DType::f32, {1, 1, 3, 1}, std::vector<double>{2, 3, 2}));
  // Two windows over four columns: one column is missing, and comes after.
  EXPECT_EQ(sums(config(SamePadding{}, {1, 2}), 1, 4),
            Literal::from(DType::f32, {1, 1, 2, 1}, std::vector<double>{3, 2}));
  EXPECT_EQ(sums(config(ExplicitPadding{2, 0, 0, 1}, {1, 1}), 1, 3),
            Literal::from(DType::f32, {1, 1, 2, 1}, std::vector<double>{3, 2}));
}

TEST(Conv2D, InitializesByItsFanIn) {
  Conv2D::Config c = config(SamePadding{}, {1, 1});
  c.input_dim = 8;
  c.groups = 4;
  c.output_dim = 64;
  const Literal weight = initial_values(Conv2D(c), 3).at("weight");
  EXPECT_EQ(weight.dims(), (Dims{3, 3, 2, 64}));
  double squares = 0;
  for (const double w : weight.to_doubles()) squares += w * w;
  EXPECT_NEAR(squares / static_cast<double>(weight.size()), 1.0 / 18, 0.01);
}

TEST(Conv2D, RefusesWhatDoesntFit) {
  const auto refusal = [](void set(Conv2D::Config&)) {
    Conv2D::Config c = config(SamePadding{}, {1, 1});
    c.input_dim = c.output_dim = 6;
    set(c);
    return error_text([&] { validate(c); });
  };
  EXPECT_THAT(refusal([](Conv2D::Config& c) { c.groups = 4; }), HasSubstr("groups must divide input_dim"));
  EXPECT_THAT(refusal([](Conv2D::Config& c) { c.kernel_size = {3}; }), HasSubstr("must be two positive numbers"));
  EXPECT_THAT(refusal([](Conv2D::Config& c) { c.strides = {1, 0}; }), HasSubstr("must be two positive numbers"));
  EXPECT_THAT(refusal([](Conv2D::Config& c) { c.dilation = {}; }), HasSubstr("must be two positive numbers"));
  EXPECT_THAT(refusal([](Conv2D::Config& c) { c.padding = ExplicitPadding{0, -1, 0, 0}; }), HasSubstr("bottom"));
  EXPECT_THAT(error_text([] { sums(config(ValidPadding{}, {1, 1}), 2, 5); }),
              HasSubstr("larger than the padded image"));
  const auto two_channels = [] {
    Conv2D::Config c = config(ValidPadding{}, {1, 1});
    c.input_dim = 2;
    const Conv2D conv(c);
    evaluate({{"weight", ones({3, 3, 2, 1})}}, {{"x", ones({1, 4, 4, 1})}}, [&](const Nest& s, const Nest& i) {
      return Nest{{"y", functional(conv, &Conv2D::forward, s, Tensor(), false, i.at("x")).result}};
    });
  };
  EXPECT_THAT(error_text(two_channels), HasSubstr("[B, H, W, 2]"));
}

template <class P>
Literal pooled(const P& pool, const Literal& x) {
  return evaluate({}, {{"x", x}},
                  [&](const Nest& s, const Nest& i) {
                    return Nest{{"y", functional(pool, &P::forward, s, Tensor(), false, i.at("x")).result}};
                  })
      .at("y");
}

TEST(GlobalPool, TakesTheWholeImage) {
  const Literal x = Literal::from(DType::f32, {1, 2, 2, 2}, std::vector<double>{1, -8, 2, -7, 3, -6, 6, -3});
  EXPECT_EQ(pooled(GlobalAvgPool({}), x), Literal::from(DType::f32, {1, 2}, std::vector<double>{3, -6}));
  EXPECT_EQ(pooled(GlobalMaxPool({}), x), Literal::from(DType::f32, {1, 2}, std::vector<double>{6, -3}));
  EXPECT_THAT(error_text([] { pooled(GlobalAvgPool({}), ones({2, 2})); }), HasSubstr("[B, …, C]"));
}

TEST(Pool, StridesAreTheWindowUnlessGiven) {
  MaxPool::Config c;
  EXPECT_EQ(pooled(MaxPool(c), ones({1, 4, 6, 3})).dims(), (Dims{1, 2, 3, 3}));
  c.strides = {1, 1};
  EXPECT_EQ(pooled(MaxPool(c), ones({1, 4, 6, 3})).dims(), (Dims{1, 3, 5, 3}));
}

}  // namespace
}  // namespace tenon
