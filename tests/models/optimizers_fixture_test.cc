// Optimizers, clips, running means and schedules against PyTorch, optax and transformers, in f64 but for Muon
// (tests/fixtures/make_optimizers_fixture.py).
#include <gtest/gtest.h>

#include <limits>

#include "fixture.h"
#include "tenon/optim/adafactor.h"
#include "tenon/optim/clip.h"
#include "tenon/optim/ema.h"
#include "tenon/optim/lion.h"
#include "tenon/optim/muon.h"
#include "tenon/optim/schedule.h"
#include "tenon/optim/sgd.h"

namespace tenon {
namespace {

constexpr int kOptimizerSteps = 5;
constexpr double kInf = std::numeric_limits<double>::infinity();

Literal as(DType dtype, const Literal& x) { return Literal::from(dtype, x.dims(), x.to_doubles()); }

// Runs an optimizer on one parameter of the fixture in the interpreter, held against a case after each step.
void expect_steps(const Fixture& fixture, const Optimizer& optimizer, const std::string& run, const std::string& name,
                  DType dtype = DType::f64, double tolerance = 1e-12) {
  const Values start{{"value", as(dtype, fixture["start/" + name])}};
  ParamInfo param;
  param.path = name;
  param.shape = start.at("value").dims();
  Values state = evaluate(start, {}, [&](const Nest& s, const Nest&) {
    Nest out = optimizer.init(param, s.at("value"));
    out.insert(s.begin(), s.end());
    return out;
  });
  const Literal rates = fixture["learning_rate"];
  for (int step = 0; step < kOptimizerSteps; ++step) {
    Values inputs{{"grad", as(dtype, fixture["grad/" + std::to_string(step) + "/" + name])},
                  {"num_updates", Literal::scalar(dtype, step + 1)}};
    for (const auto& [key, value] : optimizer.scalars(step)) {
      inputs.emplace("scalar." + key, Literal::scalar(dtype, value));
    }
    inputs.emplace("scalar.learning_rate", Literal::scalar(dtype, rates.as_double(step)));
    state = evaluate(state, inputs, [&](const Nest& s, const Nest& in) {
      Nest own = s, scalars;
      own.erase("value");
      for (const auto& [key, t] : in) {
        if (key.starts_with("scalar.")) scalars.emplace(key.substr(7), t);
      }
      auto [next, after] = optimizer.update({param, s.at("value"), in.at("grad"), own, scalars, in.at("num_updates")});
      after.emplace("value", next);
      return after;
    });
    const std::string at = run + "/" + std::to_string(step) + "/" + name;
    ASSERT_EQ(difference(state.at("value"), as(dtype, fixture[at]), tolerance), "") << at;
  }
}

void expect_case(const std::string& run, const Optimizer& optimizer,
                 const std::vector<std::string>& names = {"matrix", "cube", "vector", "single"}) {
  const Fixture fixture("optimizers");
  for (const std::string& name : names) expect_steps(fixture, optimizer, run, name);
}

Sgd::Config sgd(double momentum, bool nesterov, double decay = 0) {
  Sgd::Config c;
  c.momentum = momentum;
  c.nesterov = nesterov;
  c.weight_decay = decay;
  return c;
}

Adafactor::Config adafactor() {
  Adafactor::Config c;
  c.min_factored_dim = 5;
  return c;
}

TEST(OptimizersFixture, Sgd) {
  expect_case("sgd", Sgd(sgd(0.9, false)));
  expect_case("sgd_nesterov", Sgd(sgd(0.7, true)));
  expect_case("sgd_plain", Sgd(sgd(0, false)));
  expect_case("sgd_decay", Sgd(sgd(0.8, false, 0.1)));
}

TEST(OptimizersFixture, Lion) {
  Lion::Config c;
  c.b2 = 0.98;
  expect_case("lion", Lion(c));
}

// Of a largest element of 1.9, which the updates move by 0.18 in all.
TEST(OptimizersFixture, Muon) {
  const Fixture fixture("optimizers");
  for (const bool nesterov : {true, false}) {
    Muon::Config c;
    c.momentum = 0.9;
    c.nesterov = nesterov;
    for (const DType iteration : {DType::f32, DType::bf16}) {
      c.iteration_dtype = iteration;
      const double tolerance = iteration == DType::f32 ? 1e-6 : 4e-3;
      expect_steps(fixture, Muon(c), nesterov ? "muon" : "muon_plain", "matrix", DType::f32, tolerance);
    }
  }
}

TEST(OptimizersFixture, RunningMeans) {
  const Fixture fixture("optimizers");
  for (const std::string name : {"matrix", "cube", "vector", "single"}) {
    Values mean{{"mean", fixture["start/" + name]}};
    for (int step = 0; step < kOptimizerSteps; ++step) {
      const std::string at = std::to_string(step) + "/" + name;
      const Values inputs{{"value", fixture["sgd_plain/" + at]},
                          {"decay", Literal::scalar(DType::f64, 0.7)},
                          {"num_updates", Literal::scalar(DType::f64, step + 1)}};
      mean = evaluate(mean, inputs, [](const Nest& s, const Nest& in) {
        return Nest{{"mean", Ema::update(s.at("mean"), in.at("value"), in.at("decay"), in.at("num_updates"))}};
      });
      ASSERT_EQ(difference(mean.at("mean"), fixture["ema/" + at], 1e-12), "") << at;
    }
  }
}

TEST(OptimizersFixture, Adafactor) {
  expect_case("adafactor", Adafactor(adafactor()));
  Adafactor::Config c = adafactor();
  c.scale_by_parameter = false;
  expect_case("adafactor_absolute", Adafactor(c));
  c = adafactor();
  c.b1 = 0.9;
  c.clip_rms = 0.7;
  c.weight_decay = 0.05;
  expect_case("adafactor_momentum", Adafactor(c));
}

TEST(OptimizersFixture, ClipByValue) {
  ClipByValue::Config c;
  c.max_value = 0.3;
  c.optimizer = sgd(0, false);
  expect_case("clip_by_value", ClipByValue(c));
  c.max_value = kInf;
  expect_case("sgd_plain", ClipByValue(c));
}

// optax takes another view of what the units of three dimensions are.
TEST(OptimizersFixture, AdaptiveClip) {
  AdaptiveClip::Config c;
  c.max_ratio = 0.02;
  c.optimizer = sgd(0, false);
  expect_case("adaptive_clip", AdaptiveClip(c), {"matrix", "vector", "single"});
  c.max_ratio = kInf;
  expect_case("sgd_plain", AdaptiveClip(c));
}

void expect_schedule(const std::string& name, const Schedule& schedule) {
  const Literal want = Fixture("optimizers")["schedule/" + name];
  for (int64_t step = 0; step < want.size(); ++step) {
    EXPECT_NEAR(schedule(step), want.as_double(step), 1e-12) << name << " at " << step;
  }
}

TEST(OptimizersFixture, Schedules) {
  expect_schedule("cosine", CosineWithWarmup{.peak = 2, .warmup_steps = 8, .total_steps = 32, .final_ratio = 0.1});
  expect_schedule("linear", LinearWithWarmup{.peak = 2, .warmup_steps = 8, .total_steps = 32, .final_ratio = 0.25});
  expect_schedule("constant", ConstantWithWarmup{.peak = 2, .warmup_steps = 8});
  WarmupStableDecay wsd{.peak = 2, .warmup_steps = 8, .decay_steps = 10, .total_steps = 32, .final_ratio = 0.1};
  expect_schedule("wsd_linear", wsd);
  wsd.decay = DecayShape::cosine;
  expect_schedule("wsd_cosine", wsd);
  wsd.decay = DecayShape::sqrt;
  wsd.final_ratio = 0;  // transformers' also begins at it
  expect_schedule("wsd_sqrt", wsd);
  expect_schedule("inverse_sqrt", InverseSqrtWithWarmup{.peak = 2, .warmup_steps = 8});
  expect_schedule("stepwise", Stepwise{.peak = 2, .warmup_steps = 8, .boundaries = {12, 24}, .ratios = {0.5, 0.1}});
}

}  // namespace
}  // namespace tenon
