// Values are held against NumPy in tests/models/quantized_dot_fixture_test.cc.
#include "tenon/nn/dot/quantized_dot.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tenon/config/config_type.h"
#include "tenon/config/modify.h"
#include "tenon/config/validate.h"
#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/basic/feed_forward.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/testing/tiny_lm.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

Linear::Config linear_with(const Slot<Dot>& dot, int64_t input_dim = 4) {
  Linear::Config c;
  c.input_dim = input_dim;
  c.output_dim = 2;
  c.dot = dot;
  return c;
}

// The layer's result, "y", and its updates.
Values apply(const Linear& linear, const Values& state, const Literal& x, bool training) {
  return evaluate(state, {{"x", x}}, [&](const Nest& s, const Nest& in) {
    const auto out = functional(linear, &Linear::forward, s, Tensor(), training, in.at("x"));
    Nest named = flatten_collected(out.collected);
    named.emplace("y", out.result);
    return named;
  });
}

Literal rows(const std::vector<double>& values) {
  return Literal::from(DType::f32, {static_cast<int64_t>(values.size()) / 4, 4}, values);
}

TEST(Int8Dot, WholeNumbersUpTo127AreExact) {
  const Linear linear(linear_with(Int8Dot::Config{}));
  const Values state{{"weight", Literal::from(DType::f32, {4, 2}, std::vector<double>{127, 1, -3, 127, 5, 0, 0, 2})}};
  const Values out = apply(linear, state, rows({127, -2, 3, 64, 0, 0, 0, 0}), true);
  EXPECT_EQ(out.at("y").to_doubles(), (std::vector<double>{127 * 127 + 6 + 15, 127 - 254 + 128, 0, 0}));
  EXPECT_EQ(out.size(), 1u) << "no state";
}

TEST(Int8Dot, RefusesSumsThatOverflow) {
  const Linear linear(linear_with(Int8Dot::Config{}, 133'001));
  const auto error = error_of([&] {
    evaluate({{"weight", Literal(TensorType{DType::f32, {133'001, 2}})}},
             {{"x", Literal(TensorType{DType::f32, {1, 133'001}})}}, [&](const Nest& s, const Nest& in) {
               return Nest{{"y", functional(linear, &Linear::forward, s, Tensor(), false, in.at("x")).result}};
             });
  });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::unsupported);
  EXPECT_EQ(error->path(), "dot");
}

// Where they were, and nowhere else in the integers' rows.
TEST(QuantizedDots, HideNoNumberThatIsntFinite) {
  const Values state{{"weight", Literal::from(DType::f32, {4, 2}, std::vector<double>(8, 1))},
                     {"dot.input_amax", Literal(TensorType{DType::f32, {16}})},
                     {"dot.weight_amax", Literal(TensorType{DType::f32, {16}})},
                     {"dot.gradient_amax", Literal(TensorType{DType::f32, {16}})}};
  for (const Slot<Dot>& dot : {Slot<Dot>(Int8Dot::Config{}), Slot<Dot>(Fp8Dot::Config{})}) {
    for (const double bad : {std::nan(""), HUGE_VAL}) {
      const Values out = apply(Linear(linear_with(dot)), state, rows({1, bad, 0, 1, 1, 1, 0, 0}), true);
      const std::vector<double> y = out.at("y").to_doubles();
      EXPECT_FALSE(std::isfinite(y[0])) << dot.get().type().name();
      EXPECT_FALSE(std::isfinite(y[1])) << dot.get().type().name();
      EXPECT_NEAR(y[2], 2, 1e-6) << dot.get().type().name();
    }
  }
}

// Scales come from the past alone: 448 / 2 makes 3 of 3; and only training changes the past.
TEST(Fp8Dot, ReadsItsHistoryAndUpdatesItInTrainingOnly) {
  Fp8Dot::Config config;
  config.history = 2;
  const Linear linear(linear_with(config));
  Values state{{"weight", Literal::from(DType::f32, {4, 2}, std::vector<double>(8, 1))},
               {"dot.input_amax", Literal::from(DType::f32, {2}, std::vector<double>{1, 2})},
               {"dot.weight_amax", Literal(TensorType{DType::f32, {2}})},
               {"dot.gradient_amax", Literal(TensorType{DType::f32, {2}})}};
  const Literal x = rows({3, 0, 0, 0, 1, -1, 0.5, 0});
  const Values trained = apply(linear, state, x, true), evaluated = apply(linear, state, x, false);
  EXPECT_EQ(trained.at("y").to_doubles(), (std::vector<double>{2, 2, 0.5, 0.5})) << "3 is clipped to 2";
  EXPECT_EQ(trained.at("y"), evaluated.at("y"));
  EXPECT_EQ(evaluated.size(), 1u);
  EXPECT_EQ(trained.at("updates.dot.input_amax").to_doubles(), (std::vector<double>{3, 1}));
  EXPECT_EQ(trained.at("updates.dot.weight_amax").to_doubles(), (std::vector<double>{1, 0}));
}

TEST(Fp8Dot, ChecksItsRanges) {
  Fp8Dot::Config config;
  config.history = 0;
  config.margin = 16;
  const Linear::Config linear = linear_with(config);
  const auto error = error_of([&] { validate(linear); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), HasSubstr("dot.history"));
  EXPECT_THAT(error->what(), HasSubstr("dot.margin"));
}

// A loop over layers gives every layer its own history, of the forward pass and of the gradients, as layers apart do.
TEST(Fp8Dot, ScannedLayersKeepTheirHistoriesApart) {
  const auto run = [&](StackForm form, const Values* like) {
    CausalLm::Config config = tiny_lm(form);
    replace<Dot>(config, Fp8Dot::Config{});
    const CausalLm model(config);
    Values state = initial_values(model, 3);
    if (like != nullptr) state = stack_as(state, unstack(*like));
    return std::pair(state, loss_and_gradients(model, state, packed_batch({{5, 4}, {7}}, 11, 1)));
  };
  const auto [unrolled_state, unrolled] = run(StackForm::unroll, nullptr);
  const auto [scanned_state, scanned] = run(StackForm::scan, &unrolled_state);
  const Values apart = unstack(scanned);
  int histories = 0;
  for (const auto& [name, value] : unrolled) {
    if (!name.ends_with("_amax")) continue;
    const bool of_gradient = name.ends_with("gradient_amax");
    if (of_gradient != name.starts_with("grads.")) continue;
    EXPECT_GT(value.as_double(0), 0) << name;
    EXPECT_EQ(difference(apart.at(name), value, 1e-5), "") << name;
    ++histories;
  }
  EXPECT_EQ(histories, 4 * 7 * 3);
  EXPECT_EQ(difference(scanned.at("loss"), unrolled.at("loss"), 1e-6), "");
}

// The squared error of a feed-forward that learns what another computes, after some steps down its gradient with its
// states carried along.
double trained_error(const Slot<Dot>& dot) {
  constexpr int kSteps = 40;
  constexpr double kRate = 1;
  GatedFeedForward::Config config;
  config.input_dim = 8;
  config.hidden_dim = 16;
  const GatedFeedForward teacher(config);
  replace<Dot>(config, dot.get());
  const GatedFeedForward student(config);
  const auto run = [](const GatedFeedForward& module, const Nest& state, const Nest& in) {
    return functional(module, &GatedFeedForward::forward, state, Tensor(), true, in.at("x"));
  };
  Values batch{{"x", Literal(TensorType{DType::f32, {2, 16, 8}})}};
  for (int64_t i = 0; i < 256; ++i) batch.at("x").set(i, std::sin(static_cast<double>(i * i)));
  batch.merge(evaluate(initial_values(teacher, 1), batch,
                       [&](const Nest& s, const Nest& in) { return Nest{{"y", run(teacher, s, in).result}}; }));
  Values state = initial_values(student, 2);
  const NestGraph step = nest_graph(state, batch, [&](const Nest& s, const Nest& in) {
    const auto both = value_and_grad(
        [&](const Nest& at) {
          const auto out = run(student, at, in);
          const Tensor error = out.result - in.at("y");
          return std::pair(mean(error * error, {0, 1, 2}), flatten_collected(out.collected));
        },
        s);
    Nest out = both.aux;
    out.emplace("error", both.value);
    add_with_prefix(out, "grads.", both.grads);
    return out;
  });
  double error = 0;
  for (int i = 0; i < kSteps; ++i) {
    const Values out = name_results(step, interpret(step.graph, nest_arguments(state, batch)));
    error = out.at("error").as_double(0);
    for (auto& [name, value] : state) {
      if (name.ends_with("_amax")) {
        value = out.at((name.ends_with("gradient_amax") ? "grads." : "updates.") + name);
        continue;
      }
      const std::vector<double> gradient = out.at("grads." + name).to_doubles();
      for (int64_t k = 0; k < value.size(); ++k) {
        value.set(k, value.as_double(k) - kRate * gradient[static_cast<size_t>(k)]);
      }
    }
  }
  return error;
}

TEST(QuantizedDots, LearnAsWellAsF32) {
  const double plain = trained_error(PlainDot::Config{});
  EXPECT_LT(plain, 0.05) << "from 0.167";
  for (const Slot<Dot>& dot : {Slot<Dot>(Int8Dot::Config{}), Slot<Dot>(Fp8Dot::Config{})}) {
    const double error = trained_error(dot);
    EXPECT_NEAR(error / plain, 1, 0.03) << dot.get().type().name();
    EXPECT_NE(error, plain) << dot.get().type().name();
  }
}

TEST(Fp8Dot, RefusesToKeepHistoriesOfPiecesOfALoss) {
  CausalLm::Config config = tiny_lm(StackForm::scan);
  config.head = LinearHead::Config{};
  config.loss_chunks = 3;
  replace<Dot>(config, Fp8Dot::Config{});
  const CausalLm model(config);
  const auto error =
      error_of([&] { loss_and_gradients(model, initial_values(model, 1), packed_batch({{4, 5}}, 11, 1)); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::unsupported);
  EXPECT_THAT(error->what(), HasSubstr("head.linear.dot.gradient_amax"));
}

}  // namespace
}  // namespace tenon
