#include "tenon/nn/transformer/layers.h"

#include <gmock/gmock.h>

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/random.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/initializers.h"
#include "tenon/nn/testing/evaluate.h"
#include "tenon/nn/transformer/residual.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

class Step : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> input_dim;
    TENON_FIELDS(input_dim)
  };
  virtual Tensor forward(const Tensor& x) const = 0;

 protected:
  explicit Step(const Config& config) : Module(config) {}
};
TENON_INTERFACE(Step, Module, "a layer of these tests")

// Uses everything a layer may: a parameter, a draw, a state, outputs of every merge.
class Noisy final : public Step {
 public:
  struct Config : Step::Config {
    double strength = 0.5;
    TENON_CONFIG(strength)
  };
  explicit Noisy(const Config& c)
      : Step(c),
        strength_(c.strength),
        scale_(this, "scale", {c.input_dim}, {{}, Normal{1}, 1}),
        calls_(this, "calls", {2}) {}
  Tensor forward(const Tensor& x) const override {
    const Tensor y = tanh(x * scale_) + random_normal(rng("noise"), x.dims(), DType::f32) * strength_;
    calls_.update(calls_ + mean(y, {0, 1}));
    summary("sum", y, Merge::sum);
    summary("mean", y, Merge::mean);
    summary("max", y, Merge::max);
    summary("last", y, Merge::last);
    summary("stack", y, Merge::stack);
    summary("weighted", y, Merge::weighted_mean, y * y);
    aux("penalty", sum_all(y * y), Merge::sum);
    return y;
  }

 private:
  double strength_;
  Param scale_;
  State calls_;
};
TENON_MODULE(Noisy, Step, "for tests")

// A layer of another shape, with a child.
class Outer final : public Step {
 public:
  struct Config : Step::Config {
    TENON_CONFIG()
  };
  explicit Outer(const Config& c)
      : Step(c), inner_(this, "inner", Noisy::Config{}, [&](Noisy::Config& n) { n.input_dim = c.input_dim; }) {}
  Tensor forward(const Tensor& x) const override { return inner_(x * 0.5) + x; }

 private:
  Child<Noisy> inner_;
};
TENON_MODULE(Outer, Step, "for tests")

// Multiplies by a parameter; what the parent calls between layers.
class Gain final : public Module {
 public:
  struct Config : Module::Config {
    TENON_CONFIG()
  };
  explicit Gain(const Config& c) : Module(c), gain_(this, "gain", {1}, {{}, Constant{1.5}, 1}) {}
  Tensor forward(const Tensor& x) const { return x * gain_; }

 private:
  Param gain_;
};
TENON_MODULE(Gain, Module, "for tests")

class Stack final : public Module {
 public:
  struct Config : Module::Config {
    std::vector<Slot<Step>> pattern{Noisy::Config{}, Outer::Config{}};
    int64_t num_layers = 6;
    StackForm form = StackForm::scan;
    TENON_CONFIG(pattern, num_layers, form)
  };
  explicit Stack(const Config& c)
      : Module(c),
        bias_(this, "bias", {2}, {{}, Constant{0.25}, 1}),
        gain_(this, "gain", Gain::Config{}),
        layers_(this, "layers", c.pattern, c.num_layers, c.form, [](Step::Config& s) { s.input_dim = 2; }) {}
  Tensor forward(const Tensor& x) const {
    return layers_.fold(x, [](auto& layer, const Tensor& h) { return layer(h); });
  }
  // The parent's own parameter and another child, between layers.
  Tensor with_parent(const Tensor& x) const {
    return layers_.fold(x, [&](auto& layer, const Tensor& h) { return layer(gain_(h) + bias_); });
  }
  // In a loop of its own, which has no way out for what layers collect.
  Tensor in_loop(const Tensor& x) const {
    const auto step = [&](const Tensor&, const Tensor& h, const Tensor&) {
      return std::pair(layers_.fold(h, [](auto& layer, const Tensor& t) { return layer(t); }), h);
    };
    return scan(step, x, expand_dims(x, 0)).first;
  }
  Nest start() const {
    return layers_.states([](const auto&) { return Nest{{"seen", zeros({DType::f32, {2}})}}; });
  }
  std::pair<Nest, Tensor> with_states(const Nest& states, const Tensor& x) const {
    return layers_.fold(x, states, [](auto& layer, const Nest& state, const Tensor& h) {
      const Tensor y = layer(h);
      return std::pair(Nest{{"seen", state.at("seen") + reduce_sum(y, {0})}}, y);
    });
  }

 private:
  Param bias_;
  Child<Gain> gain_;
  Layers<Step> layers_;
};
TENON_MODULE(Stack, Module, "for tests")

Stack stack_of(StackForm form, int64_t num_layers = 6) {
  Stack::Config c;
  c.form = form;
  c.num_layers = num_layers;
  return Stack(c);
}

const Values& input() {
  static const Values values{{"x", Literal::from(DType::f32, {1, 2}, std::vector<double>{0.3, -0.7})}};
  return values;
}

template <class M>
Values run(const Module& root, const Stack& stack, M method) {
  return evaluate(initial_values(root, 1), input(), [&](const Nest& s, const Nest& in) {
    const auto both = value_and_grad(
        [&](const Nest& p) {
          auto [y, collected] = functional(stack, method, p, make_key(2), true, in.at("x"));
          Tensor loss = sum_all(y * y);
          for (const auto& [path, o] : collected.aux) loss = loss + o.value;
          return std::pair(loss, flatten_collected(collected));
        },
        s);
    Nest out = both.aux;
    out.emplace("value", both.value);
    add_with_prefix(out, "grads.", both.grads);
    return out;
  });
}

// Outputs are named alike in both forms; states and parameters apart.
Values unstack_arrays(const Values& values) {
  Values arrays, out;
  for (const auto& [name, value] : values) {
    (name.starts_with("grads.") || name.starts_with("updates.") ? arrays : out).emplace(name, value);
  }
  out.merge(unstack(arrays));
  return out;
}

TEST(Layers, FormsAreEqualToTheBit) {
  const Stack scanned = stack_of(StackForm::scan), unrolled = stack_of(StackForm::unroll);
  EXPECT_EQ(unstack(initial_values(scanned, 1)), initial_values(unrolled, 1));
  const Values got = run(scanned, scanned, &Stack::forward);
  EXPECT_TRUE(got.contains("updates.layers.1::2.inner.calls"));
  EXPECT_TRUE(got.contains("summaries.layers.0::2.stack"));
  EXPECT_EQ(unstack_arrays(got), unstack_arrays(run(unrolled, unrolled, &Stack::forward)));
}

// A pattern of two that doesn't divide the layers: three times and a half, and less than once.
TEST(Layers, LayersThatAreLeftOver) {
  const Stack scanned = stack_of(StackForm::scan, 7), unrolled = stack_of(StackForm::unroll, 7);
  std::vector<std::string> paths;
  for (const ParamInfo& info : describe_state(scanned)) paths.push_back(info.path);
  EXPECT_THAT(paths, ::testing::ElementsAre("bias", "gain.gain", "layers.0::2.scale", "layers.6.scale",
                                            "layers.1::2.inner.scale", "layers.0::2.calls", "layers.6.calls",
                                            "layers.1::2.inner.calls"));
  EXPECT_EQ(unstack(initial_values(scanned, 1)), initial_values(unrolled, 1));
  const Values got = run(scanned, scanned, &Stack::forward);
  EXPECT_EQ(got.at("summaries.layers.0::2.stack").dims(), (Dims{4, 1, 2}));
  EXPECT_EQ(got.at("summaries.layers.1::2.inner.stack").dims(), (Dims{3, 1, 2}));
  EXPECT_EQ(unstack_arrays(got), unstack_arrays(run(unrolled, unrolled, &Stack::forward)));

  const Stack one = stack_of(StackForm::scan, 1), one_unrolled = stack_of(StackForm::unroll, 1);
  EXPECT_EQ(initial_values(one, 1), initial_values(one_unrolled, 1));
  EXPECT_EQ(run(one, one, &Stack::forward), run(one_unrolled, one_unrolled, &Stack::forward));
}

TEST(Layers, ParentsCodeRunsInTheParentsContext) {
  const Stack scanned = stack_of(StackForm::scan), unrolled = stack_of(StackForm::unroll);
  const Values got = run(scanned, scanned, &Stack::with_parent);
  EXPECT_NE(got.at("grads.bias").as_double(0), 0);
  EXPECT_NE(got.at("grads.gain.gain").as_double(0), 0);
  const Values want = unstack_arrays(run(unrolled, unrolled, &Stack::with_parent));
  const Values have = unstack_arrays(got);
  ASSERT_EQ(have.size(), want.size());
  for (const auto& [name, value] : want) EXPECT_EQ(difference(have.at(name), value, 1e-6), "") << name;
}

TEST(Layers, StatesAreWrittenLayerByLayer) {
  const auto run_states = [](StackForm form) {
    const Stack stack = stack_of(form, 7);
    return evaluate(initial_values(stack, 1), input(), [&](const Nest& s, const Nest& in) {
      const Nest start = functional(stack, &Stack::start, s, Tensor(), false).result;
      auto [nest, y] = functional(stack, &Stack::with_states, s, make_key(2), false, start, in.at("x")).result;
      nest.emplace("y", y);
      return nest;
    });
  };
  const Values scanned = run_states(StackForm::scan), unrolled = run_states(StackForm::unroll);
  EXPECT_EQ(unrolled.size(), 8u);
  EXPECT_EQ(unstack(scanned), unrolled);
  EXPECT_NE(unrolled.at("0.seen"), unrolled.at("2.seen"));
  EXPECT_NE(unrolled.at("4.seen"), unrolled.at("6.seen"));
}

// Merges of three layers against sums done here.
TEST(Layers, OutputsMergeAsTheySay) {
  Stack::Config config;
  config.pattern = {Noisy::Config{}};
  config.num_layers = 3;
  const Stack stack(config);
  const Values got = run(stack, stack, &Stack::forward);
  const Literal& all = got.at("summaries.layers.0::1.stack");
  ASSERT_EQ(all.dims(), (Dims{3, 1, 2}));
  double penalty = 0;
  for (int64_t i = 0; i < 2; ++i) {
    const double a = all.as_double(i), b = all.as_double(2 + i), c = all.as_double(4 + i);
    const auto merged = [&](const std::string& name) { return got.at("summaries.layers.0::1." + name).as_double(i); };
    EXPECT_NEAR(merged("sum"), a + b + c, 1e-6);
    EXPECT_NEAR(merged("mean"), (a + b + c) / 3, 1e-6);
    EXPECT_EQ(merged("max"), std::max({a, b, c}));
    EXPECT_EQ(merged("last"), c);
    EXPECT_NEAR(merged("weighted"), (a * a * a + b * b * b + c * c * c) / (a * a + b * b + c * c), 1e-6);
    penalty += a * a + b * b + c * c;
  }
  EXPECT_NEAR(got.at("aux.layers.0::1.penalty").as_double(0), penalty, 1e-5);
}

TEST(Layers, OutputsInALoopOfTheParentAreRefused) {
  for (const StackForm form : {StackForm::scan, StackForm::unroll}) {
    const Stack stack = stack_of(form);
    const auto error = error_of([&] { run(stack, stack, &Stack::in_loop); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), ErrorCode::unsupported);
    EXPECT_THAT(error->what(), HasSubstr("was given inside a loop"));
  }
}

TEST(Layers, EveryLayerDrawsItsOwnNoise) {
  Stack::Config config;
  config.pattern = {Noisy::Config{}};
  config.num_layers = 3;
  const Stack stack(config);
  Values state = initial_values(stack, 1);
  state.at("layers.0::1.scale") = Literal(TensorType{DType::f32, {3, 2}});  // only noise is left
  const Literal noise = evaluate(state, input(), [&](const Nest& s, const Nest& in) {
                          return Nest{{"y", functional(stack, &Stack::forward, s, make_key(2), true, in.at("x"))
                                                .collected.summaries.at("layers.0::1.stack")
                                                .value}};
                        }).at("y");
  EXPECT_NE(noise.as_double(0), noise.as_double(2));
  EXPECT_NE(noise.as_double(2), noise.as_double(4));
}

TEST(Layers, ParameterTableOfAStack) {
  const auto infos = describe_state(stack_of(StackForm::scan));
  std::vector<std::string> paths;
  for (const ParamInfo& info : infos) paths.push_back(info.path);
  EXPECT_THAT(paths, ::testing::ElementsAre("bias", "gain.gain", "layers.0::2.scale", "layers.1::2.inner.scale",
                                            "layers.0::2.calls", "layers.1::2.inner.calls"));
  EXPECT_EQ(infos[2].shape, (Dims{2}));
  EXPECT_EQ(infos[2].logical_shape(), (Dims{3, 2}));
  EXPECT_TRUE(infos[2].trainable);
  EXPECT_FALSE(infos[4].trainable);
}

// An unrolled stack inside a scanned one works, and a scanned one inside a scanned one says what to do.
class Nested final : public Step {
 public:
  struct Config : Step::Config {
    StackForm form = StackForm::unroll;
    TENON_CONFIG(form)
  };
  explicit Nested(const Config& c)
      : Step(c),
        layers_(this, "layers", {Noisy::Config{}}, 2, c.form, [&](Step::Config& s) { s.input_dim = c.input_dim; }) {}
  Tensor forward(const Tensor& x) const override {
    return layers_.fold(x, [](auto& layer, const Tensor& h) { return layer(h); });
  }

 private:
  Layers<Step> layers_;
};
TENON_MODULE(Nested, Step, "for tests")

TEST(Layers, StacksInsideStacks) {
  Stack::Config config;
  config.pattern = {Nested::Config{}};
  config.num_layers = 3;
  const Stack scanned(config);
  config.form = StackForm::unroll;
  const Stack unrolled(config);
  EXPECT_EQ(unstack(initial_values(scanned, 1)), initial_values(unrolled, 1));
  EXPECT_EQ(unstack_arrays(run(scanned, scanned, &Stack::forward)),
            unstack_arrays(run(unrolled, unrolled, &Stack::forward)));

  config.form = StackForm::scan;
  config.pattern[0].as<Nested>().form = StackForm::scan;
  const auto error = error_of([&] { describe_state(Stack(config)); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::unsupported);
  EXPECT_EQ(error->path(), "layers.0::1.layers.0::1");
}

// Adds 1 through a residual that drops rows, and tells what came of it.
class Dropping final : public Step {
 public:
  struct Config : Step::Config {
    Slot<StochasticDepthResidual> residual;
    Config() : residual(linear()) {}
    TENON_CONFIG(residual)
    static StochasticDepthResidual::Config linear() {
      StochasticDepthResidual::Config c;
      c.rate = 0.75;
      c.schedule = DepthSchedule::linear;
      return c;
    }
  };
  explicit Dropping(const Config& c)
      : Step(c), residual_(this, "residual", c.residual, [&](Residual::Config& r) { r.input_dim = c.input_dim; }) {}
  Tensor forward(const Tensor& x) const override {
    const Tensor y = residual_.call(&Residual::merge, x, full_like(x, 1));
    summary("added", y - x, Merge::stack);
    return y;
  }

 private:
  Child<StochasticDepthResidual> residual_;
};
TENON_MODULE(Dropping, Step, "for tests")

// Of 3 layers in two patterns, the last alone: rates of 1/4, 1/2 and 3/4.
TEST(Layers, StochasticDepthGrowsWithTheLayersNumber) {
  constexpr int64_t kRows = 2000;
  const auto run_layers = [&](StackForm form, bool training) {
    Stack::Config config;
    config.pattern = {Dropping::Config{}, Dropping::Config{}};
    config.num_layers = 3;
    config.form = form;
    const Stack stack(config);
    return evaluate(
        initial_values(stack, 1), {{"x", Literal(TensorType{DType::f32, {kRows, 2}})}},
        [&](const Nest& s, const Nest& in) {
          const Tensor key = training ? make_key(2) : Tensor();
          return flatten_collected(functional(stack, &Stack::forward, s, key, training, in.at("x")).collected);
        });
  };
  const Values trained = run_layers(StackForm::scan, true);
  EXPECT_EQ(trained, run_layers(StackForm::unroll, true));
  const Literal &even = trained.at("summaries.layers.0::2.added"), &odd = trained.at("summaries.layers.1::2.added");
  const auto expect_rate = [&](const Literal& added, int64_t first, double rate) {
    int64_t dropped = 0;
    for (int64_t i = first; i < first + 2 * kRows; i += 2) {
      const double x = added.as_double(i);
      dropped += x == 0;
      EXPECT_NEAR(x, x == 0 ? 0 : 1 / (1 - rate), 1e-5);
      EXPECT_EQ(added.as_double(i + 1), x);
    }
    EXPECT_NEAR(static_cast<double>(dropped) / kRows, rate, 0.04);
  };
  expect_rate(even, 0, 0.25);
  expect_rate(odd, 0, 0.5);
  expect_rate(even, 2 * kRows, 0.75);
  for (const double x : run_layers(StackForm::scan, false).at("summaries.layers.0::2.added").to_doubles()) {
    EXPECT_EQ(x, 1);
  }
}

TEST(Layers, PlacesAreThoseOfStacks) {
  StochasticDepthResidual::Config config = Dropping::Config::linear();
  config.input_dim = 2;
  const StochasticDepthResidual residual(config);
  const auto error = error_of([&] {
    evaluate(initial_values(residual, 1), input(), [&](const Nest& s, const Nest& in) {
      const Tensor& x = in.at("x");
      return Nest{{"", functional(residual, &Residual::merge, s, make_key(2), true, x, x).result}};
    });
  });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::unsupported);
  EXPECT_THAT(error->message(), HasSubstr("in no stack of layers"));
}

TEST(Layers, RefusesEmptyStacks) {
  Stack::Config config;
  config.num_layers = 0;
  const auto error = error_of([&] { Stack stack(config); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error->path(), "layers");
}

}  // namespace
}  // namespace tenon
