// Products in 8 bits against NumPy and ml_dtypes (tests/fixtures/make_quantized_dot_fixture.py).
#include <gtest/gtest.h>

#include "fixture.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/basic/linear.h"
#include "tenon/nn/dot/quantized_dot.h"
#include "tenon/nn/functional.h"

namespace tenon {
namespace {

constexpr int kDotSteps = 5;

// Nearly all of the difference is the order of a sum in f32.
constexpr double kDotTolerance = 1e-6;

Linear linear_with(const Slot<Dot>& dot) {
  Linear::Config c;
  c.input_dim = 8;
  c.output_dim = 5;
  c.dot = dot;
  return Linear(c);
}

// y, dx, dw and what the states become, of a linear layer whose result has the cotangent dy.
Values training_step(const Linear& linear, const Values& states, const Values& given) {
  return evaluate(states, given, [&](const Nest& s, const Nest& in) {
    Nest inputs = s;
    inputs.emplace("x", in.at("x"));
    inputs.emplace("weight", in.at("w"));
    const auto both = value_and_grad(
        [&](const Nest& at) {
          const auto out = functional(linear, &Linear::forward, at, Tensor(), true, at.at("x"));
          return std::pair(sum_all(out.result * in.at("dy")), std::pair(out.result, out.collected.state_updates));
        },
        inputs);
    Nest out{{"y", both.aux.first}, {"dx", both.grads.at("x")}, {"dw", both.grads.at("weight")}};
    for (const auto& [name, next] : both.aux.second) {
      out.emplace(name, name == "dot.gradient_amax" ? both.grads.at(name) : next);
    }
    return out;
  });
}

Values given(const Fixture& fixture, const std::string& prefix) {
  Values out;
  for (const char* name : {"x", "w", "dy"}) out.emplace(name, fixture[prefix + name]);
  return out;
}

void expect_same(const Fixture& fixture, const std::string& prefix, const Values& got) {
  for (const auto& [name, value] : got) {
    const std::string short_name = name.starts_with("dot.") ? name.substr(4) : name;
    EXPECT_EQ(difference(value, fixture[prefix + short_name], kDotTolerance), "") << prefix << short_name;
  }
}

TEST(QuantizedDots, Int8) {
  const Fixture fixture("quantized_dots");
  expect_same(fixture, "int8/", training_step(linear_with(Int8Dot::Config{}), {}, given(fixture, "int8/")));
}

TEST(QuantizedDots, Fp8OverStepsWithDelayedScales) {
  const Fixture fixture("quantized_dots");
  Fp8Dot::Config config;
  config.history = 3;
  config.margin = 1;
  const Linear linear = linear_with(config);
  Values states = initial_values(linear, 1);
  states.erase("weight");
  ASSERT_EQ(states.size(), 3u);
  for (int step = 0; step < kDotSteps; ++step) {
    const std::string prefix = "fp8/" + std::to_string(step) + "/";
    const Values got = training_step(linear, states, given(fixture, prefix));
    ASSERT_EQ(got.size(), 6u);
    expect_same(fixture, prefix, got);
    for (auto& [name, state] : states) state = got.at(name);
  }
}

}  // namespace
}  // namespace tenon
