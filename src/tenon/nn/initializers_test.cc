#include "tenon/nn/initializers.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tenon/config/define.h"
#include "tenon/ir/random.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/testing/tiny_lm.h"

namespace tenon {
namespace {

struct Moments {
  double mean = 0, stddev = 0;
};

Moments moments(const Literal& x) {
  double sum = 0, square = 0;
  for (int64_t i = 0; i < x.size(); ++i) {
    sum += x.as_double(i);
    square += x.as_double(i) * x.as_double(i);
  }
  const double n = static_cast<double>(x.size()), mean = sum / n;
  return {mean, std::sqrt(square / n - mean * mean)};
}

TEST(Initializers, StandardDeviations) {
  Linear::Config linear;
  linear.input_dim = 64;
  linear.output_dim = 50;
  linear.bias = true;
  const Values values = initial_values(Linear(linear), 1);
  const Moments weight = moments(values.at("weight"));
  EXPECT_NEAR(weight.mean, 0, 0.01);
  EXPECT_NEAR(weight.stddev, 1 / 8.0, 0.005);
  EXPECT_EQ(values.at("bias").to_doubles(), std::vector<double>(50, 0.0));
  linear.init = FanInNormal{.scale = 3};
  EXPECT_NEAR(moments(initial_values(Linear(linear), 1).at("weight")).stddev, 3 / 8.0, 0.015);
  linear.init = Normal{.stddev = 0.5};
  EXPECT_NEAR(moments(initial_values(Linear(linear), 1).at("weight")).stddev, 0.5, 0.02);
}

TEST(Initializers, WhatIsNoSpreadIsRefused) {
  const auto told = [](const Initializer& init) {
    Linear::Config linear;
    linear.input_dim = linear.output_dim = 2;
    linear.init = init;
    const auto e = error_of([&] { build(linear); });
    return e ? std::string(e->what()) : "";
  };
  EXPECT_EQ(told(Normal{.stddev = -1}), "invalid_argument at init.stddev: must be at least 0 and finite, is -1.0");
  EXPECT_EQ(told(Normal{.stddev = NAN}), "invalid_argument at init.stddev: must be at least 0 and finite, is nan");
  EXPECT_EQ(told(FanInNormal{.scale = INFINITY}),
            "invalid_argument at init.scale: must be at least 0 and finite, is inf");
  EXPECT_EQ(told(FanInUniform{.scale = -2}), "invalid_argument at init.scale: must be at least 0 and finite, is -2.0");
  EXPECT_EQ(told(Normal{.stddev = 0}), "");
}

TEST(Initializers, FansOfAStackDontCountItsLayers) {
  const Values values = initial_values(CausalLm(tiny_lm(StackForm::scan)), 1);
  const Literal& down = values.at("decoder.layers.0::1.feed_forward.down.weight");
  ASSERT_EQ(down.dims(), (Dims{4, 12, 8}));
  EXPECT_NEAR(moments(down).stddev, 1 / std::sqrt(12.0), 0.04);
  EXPECT_EQ(moments(values.at("decoder.norm.scale")).mean, 1);
}

TEST(Initializers, KeysAndPathsMakeTheValues) {
  const CausalLm model(tiny_lm(StackForm::scan));
  const Values one = initial_values(model, 1);
  EXPECT_EQ(one, initial_values(model, 1));
  EXPECT_NE(one.at("embedding.weight"), initial_values(model, 2).at("embedding.weight"));
  const Values apart = unstack(one);
  EXPECT_NE(apart.at("decoder.layers.0.feed_forward.gate.weight"),
            apart.at("decoder.layers.1.feed_forward.gate.weight"));
  EXPECT_NE(apart.at("decoder.layers.0.feed_forward.gate.weight"), apart.at("decoder.layers.0.feed_forward.up.weight"));
}

TEST(Initializers, AddingAParameterReshufflesNothing) {
  CausalLm::Config config = tiny_lm(StackForm::scan);
  const Values before = initial_values(CausalLm(config), 1);
  auto& qkv = attention_of(config).qkv.as<RotaryQkv>().projection.as<LinearQkv>();
  qkv.linear.as<Linear>().bias = true;
  config.head = LinearHead::Config{};
  const Values after = initial_values(CausalLm(config), 1);
  EXPECT_EQ(after.size(), before.size() + 4);
  for (const auto& [name, value] : before) EXPECT_EQ(after.at(name), value) << name;
}

TEST(Initializers, MoreLayersKeepTheFirstOnes) {
  CausalLm::Config config = tiny_lm(StackForm::scan);
  const Values before = unstack(initial_values(CausalLm(config), 1));
  config.decoder.as<Decoder>().num_layers = 6;
  const Values after = unstack(initial_values(CausalLm(config), 1));
  for (const auto& [name, value] : before) EXPECT_EQ(after.at(name), value) << name;
}

// Sizes 11, 12 and 16 on a mesh that wants multiples of 3 and 5.
TEST(Initializers, PaddingIsZeroAndChangesNoValue) {
  const CausalLm model(tiny_lm(StackForm::scan));
  const Values plain = initial_values(model, 1);
  const Values padded = evaluate({}, {}, [&](const Nest&, const Nest&) {
    return init_state(model, make_key(1), Mesh{{"fsdp", 3}, {"model", 5}});
  });
  EXPECT_EQ(padded.at("embedding.weight").dims(), (Dims{15, 9}));
  EXPECT_EQ(padded.at("decoder.layers.0::1.feed_forward.down.weight").dims(), (Dims{4, 15, 9}));
  for (const auto& [name, value] : plain) {
    const Literal& wide = padded.at(name);
    ASSERT_EQ(wide.dims().size(), value.dims().size());
    int64_t row = 0;
    for (int64_t i = 0; i < wide.size(); ++i) {
      int64_t rest = i, from = 0, step = 1;
      bool inside = true;
      for (size_t d = wide.dims().size(); d-- > 0;) {
        const int64_t at = rest % wide.dims()[d];
        inside = inside && at < value.dims()[d];
        from += at * step;
        step *= value.dims()[d];
        rest /= wide.dims()[d];
      }
      EXPECT_EQ(wide.as_double(i), inside ? value.as_double(from) : 0) << name;
      row += inside;
    }
    EXPECT_EQ(row, value.size());
  }
}

// Padded parameters are read in their logical shape: the loss and the gradients don't see the padding.
TEST(Initializers, PaddedStateGivesTheSameLoss) {
  const CausalLm model(tiny_lm(StackForm::scan));
  const Values batch = packed_batch({{5, 3}, {7}}, 11, 1);
  Values padded = evaluate({}, {}, [&](const Nest&, const Nest&) {
    return init_state(model, make_key(1), Mesh{{"fsdp", 3}, {"model", 5}});
  });
  const Values want = loss_and_gradients(model, initial_values(model, 1), batch);
  const Values got = loss_and_gradients(model, padded, batch);
  EXPECT_EQ(got.at("loss"), want.at("loss"));
  const Literal& grad = got.at("grads.embedding.weight");
  ASSERT_EQ(grad.dims(), (Dims{15, 9}));
  for (int64_t i = 0; i < grad.size(); ++i) {
    const int64_t r = i / 9, c = i % 9;
    EXPECT_EQ(grad.as_double(i), r < 11 && c < 8 ? want.at("grads.embedding.weight").as_double(r * 8 + c) : 0);
  }
}

}  // namespace
}  // namespace tenon
