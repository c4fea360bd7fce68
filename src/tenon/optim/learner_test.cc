#include "tenon/optim/learner.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <set>

#include "tenon/config/define.h"
#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/basic/linear.h"
#include "tenon/nn/dot/lora.h"
#include "tenon/optim/adamw.h"
#include "tenon/optim/frozen.h"
#include "tenon/optim/modifiers.h"
#include "tenon/optim/optimizer_by_path.h"

namespace tenon {
namespace {

// A learner and what it trains.
class Holder final : public Configurable {
 public:
  struct Config : AnyConfig {
    Slot<Linear> linear = Linear::Config{};
    Slot<Learner> learner = Learner::Config{};
    TENON_CONFIG(linear, learner)
  };
  explicit Holder(const Config&) {}
};
TENON_MODULE(Holder, Configurable, "for tests")

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// Two parameters: "w" [3] with decay, "b" [2] without.
std::vector<ParamInfo> params() {
  ParamInfo w, b, s;
  w.path = "w";
  w.shape = {3};
  w.partition = {"fsdp"};
  b.path = "b";
  b.shape = {2};
  b.decay_scale = 0;
  s.path = "count";  // a state, which no learner touches
  s.trainable = false;
  return {w, b, s};
}

struct Weights {
  std::vector<double> w, b;
};

// The learner's step as a graph, run by the interpreter; keeps its state between steps.
class TestRun {
 public:
  explicit TestRun(const Learner::Config& config, Weights start)
      : learner_(config), infos_(learner_.describe(params())) {
    values_ = {Literal::from(DType::f32, {2}, start.b), Literal::from(DType::f32, {3}, start.w)};  // by path
    std::vector<TensorType> types{{DType::f32, {2}}, {DType::f32, {3}}};
    const Graph init = make_graph(types, [&](const std::vector<Tensor>& args) {
      return flatten(learner_.init(params(), Nest{{"b", args[0]}, {"w", args[1]}}));
    });
    state_ = interpret(init, values_);
  }

  // {grad_norm, skipped, skipped_in_a_row}
  std::vector<double> step(double loss, Weights grads) {
    StepScalars scalars = learner_.scalars(step_);
    std::vector<Literal> args = values_;
    args.insert(args.end(), state_.begin(), state_.end());
    args.push_back(Literal::from(DType::f32, {2}, grads.b));
    args.push_back(Literal::from(DType::f32, {3}, grads.w));
    args.push_back(Literal::scalar(DType::f32, loss));
    args.push_back(Literal::scalar_int(DType::i32, step_++));
    for (const auto& [name, value] : scalars) args.push_back(Literal::scalar(DType::f32, value));
    std::vector<TensorType> types;
    for (const Literal& a : args) types.push_back(a.type());
    const size_t num_state = state_.size();
    const Graph graph = make_graph(types, [&](const std::vector<Tensor>& t) {
      size_t next = 0;
      Nest values{{"b", {}}, {"w", {}}}, state, grad = values, named;
      for (auto& [name, x] : values) x = t[next++];
      std::map<std::string, Tensor> names;
      for (const ParamInfo& info : infos_) state.emplace(info.path, Tensor());
      for (auto& [name, x] : state) x = t[next++];
      for (auto& [name, x] : grad) x = t[next++];
      const Tensor traced_loss = t[next++], traced_step = t[next++];
      for (const auto& [name, value] : scalars) named.emplace(name, t[next++]);
      const Learner::Update u = learner_.update(params(), values, grad, state, traced_loss, traced_step, named);
      std::vector<Tensor> out = flatten(u.values);
      for (const Tensor& x : flatten(u.state)) out.push_back(x);
      for (const Tensor& x : {u.grad_norm, u.skipped, u.skipped_in_a_row}) out.push_back(x);
      return out;
    });
    const std::vector<Literal> out = interpret(graph, args);
    values_.assign(out.begin(), out.begin() + 2);
    state_.assign(out.begin() + 2, out.begin() + 2 + static_cast<int64_t>(num_state));
    return {out[out.size() - 3].as_double(0), out[out.size() - 2].as_double(0), out[out.size() - 1].as_double(0)};
  }

  std::vector<double> w() const { return values_[1].to_doubles(); }
  std::vector<double> b() const { return values_[0].to_doubles(); }
  std::vector<Literal> everything_but_counters() const {
    std::vector<Literal> out = values_;
    for (const Literal& l : state_) {
      if (l.type().rank() > 0) out.push_back(l);
    }
    return out;
  }
  const std::vector<ParamInfo>& infos() const { return infos_; }
  // An array of the learner's state; they are kept in the order of their names.
  std::vector<double> state(const std::string& name) const {
    std::set<std::string> names;
    for (const ParamInfo& info : infos_) names.insert(info.path);
    return state_[static_cast<size_t>(std::distance(names.begin(), names.find(name)))].to_doubles();
  }

 private:
  Learner learner_;
  std::vector<ParamInfo> infos_;
  std::vector<Literal> values_, state_;
  int64_t step_ = 0;
};

// AdamW as its authors write it, for one number in f64.
struct Adam {
  double p, m = 0, v = 0;
  void step(double g, int t, double lr, double decay) {
    p *= 1 - lr * decay;
    m = 0.9 * m + 0.1 * g;
    v = 0.95 * v + 0.05 * g * g;
    p -= lr * (m / (1 - std::pow(0.9, t))) / (std::sqrt(v / (1 - std::pow(0.95, t))) + 1e-8);
  }
};

Learner::Config config(double clip) {
  Learner::Config c;
  c.learning_rate = ConstantWithWarmup{.peak = 0.01, .warmup_steps = 3};
  c.clip_global_norm = clip;
  return c;
}

const std::vector<Weights> kGrads = {
    {{0.3, -2, 1e-4}, {5, 0}}, {{-0.1, 1, 3e-4}, {-4, 0}}, {{0.2, 0.5, -1e-3}, {1, 0}}, {{1e-3, 2, 2e-5}, {-0.25, 0}}};

// What `TestRun` must give for kGrads.
void expect_adam(double clip) {
  TestRun run(config(clip), {{1, -0.5, 2}, {0.25, -3}});
  std::vector<Adam> w{{1}, {-0.5}, {2}}, b{{0.25}, {-3}};
  for (size_t i = 0; i < kGrads.size(); ++i) {
    double norm = 0;
    for (double g : kGrads[i].w) norm += g * g;
    for (double g : kGrads[i].b) norm += g * g;
    norm = std::sqrt(norm);
    const double factor = std::min(1.0, clip / norm), lr = 0.01 * std::min(1.0, static_cast<double>(i + 1) / 3.0);
    const int t = static_cast<int>(i) + 1;
    for (size_t k = 0; k < 3; ++k) w[k].step(kGrads[i].w[k] * factor, t, lr, 0.1);
    for (size_t k = 0; k < 2; ++k) b[k].step(kGrads[i].b[k] * factor, t, lr, 0);
    EXPECT_NEAR(run.step(1, kGrads[i])[0], norm, 1e-5 * norm);
    for (size_t k = 0; k < 3; ++k) EXPECT_NEAR(run.w()[k], w[k].p, 2e-6) << "step " << i << ", w " << k;
    for (size_t k = 0; k < 2; ++k) EXPECT_NEAR(run.b()[k], b[k].p, 2e-6) << "step " << i << ", b " << k;
  }
}

TEST(Learner, AdamWAsWrittenWithoutClipping) { expect_adam(kInf); }
TEST(Learner, AdamWOfTheClippedGradient) { expect_adam(1); }

double in_bf16(double x) { return Literal::scalar(DType::bf16, x).as_double(0); }

// The rule computes with what it has just made; the next step reads it rounded.
TEST(Learner, WhatIsKeptInBfloat16IsRoundedBetweenSteps) {
  Learner::Config c = config(kInf);
  c.state_dtypes = {{"^m\\.", DType::bf16}};
  TestRun run(c, {{1, -0.5, 2}, {0.25, -3}});
  std::vector<Adam> w{{1}, {-0.5}, {2}};
  double apart = 0;
  for (size_t i = 0; i < kGrads.size(); ++i) {
    const double lr = 0.01 * std::min(1.0, static_cast<double>(i + 1) / 3.0);
    run.step(1, kGrads[i]);
    for (size_t k = 0; k < 3; ++k) {
      w[k].step(kGrads[i].w[k], static_cast<int>(i) + 1, lr, 0.1);
      EXPECT_NEAR(run.w()[k], w[k].p, 2e-6) << "step " << i << ", w " << k;
      apart = std::max(apart, std::fabs(in_bf16(w[k].m) - w[k].m));
      w[k].m = in_bf16(w[k].m);
      EXPECT_NEAR(run.state("m.w")[k], w[k].m, 1e-3 * std::fabs(w[k].m));
    }
  }
  EXPECT_GT(apart, 1e-4);
  for (const ParamInfo& info : run.infos()) {
    EXPECT_EQ(info.dtype, info.path.starts_with("m.") ? DType::bf16 : DType::f32) << info.path;
  }
}

// Counters and what spikes are told by are of no parameter.
TEST(Learner, DtypesAreOfWhatIsKeptForParameters) {
  Learner::Config c = config(1);
  c.skip_spikes = NormSpikes{};
  for (const char* pattern : {"^skipped", "norm_"}) {
    c.state_dtypes = {{pattern, DType::bf16}};
    const auto error = error_of([&] { Learner(c).check_parameters(params()); });
    ASSERT_TRUE(error) << pattern;
    EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error->path(), "state_dtypes");
  }
  c.state_dtypes = {{"^[mv]\\.", DType::bf16}};
  EXPECT_FALSE(error_of([&] { Learner(c).check_parameters(params()); }));
}

TEST(Learner, ZeroGradientStaysFinite) {
  TestRun run(config(1), {{0, 0, 0}, {0, 0}});
  EXPECT_EQ(run.step(1, {{0, 0, 0}, {0, 0}})[0], 0);
  EXPECT_THAT(run.w(), testing::ElementsAre(0, 0, 0));
}

TEST(Learner, SkipsNonFiniteStepsToTheBitAndCounts) {
  TestRun run(config(1), {{1, -0.5, 2}, {0.25, -3}});
  run.step(1, kGrads[0]);
  const std::vector<Literal> before = run.everything_but_counters();
  EXPECT_EQ(run.step(kNan, kGrads[1])[2], 1);
  EXPECT_EQ(run.everything_but_counters(), before);
  EXPECT_EQ(run.step(1, {{kInf, 0, 0}, {0, 0}})[2], 2);
  EXPECT_EQ(run.everything_but_counters(), before);
  EXPECT_EQ(run.step(1, {{0, kNan, 0}, {0, 0}})[2], 3);
  EXPECT_EQ(run.everything_but_counters(), before);
  const std::vector<double> good = run.step(1, kGrads[1]);
  EXPECT_EQ(good[1], 3);
  EXPECT_EQ(good[2], 0);
  EXPECT_NE(run.everything_but_counters(), before);
}

TEST(Learner, SkippedStepsDontCountInTheBiasCorrection) {
  Learner::Config c = config(1);
  c.learning_rate = 0.01;
  TestRun skipping(c, {{1, -0.5, 2}, {0.25, -3}}), straight(c, {{1, -0.5, 2}, {0.25, -3}});
  skipping.step(1, kGrads[0]);
  skipping.step(kInf, kGrads[2]);
  skipping.step(1, kGrads[1]);
  straight.step(1, kGrads[0]);
  straight.step(1, kGrads[1]);
  EXPECT_EQ(skipping.everything_but_counters(), straight.everything_but_counters());
}

TEST(Learner, StateIsNamedAndSplitAsTheParameters) {
  const Learner learner{Learner::Config()};
  std::map<std::string, ParamInfo> by_path;
  for (const ParamInfo& info : learner.describe(params())) by_path.emplace(info.path, info);
  ASSERT_EQ(by_path.size(), 6U);
  for (const char* name : {"m.w", "v.w"}) {
    EXPECT_EQ(by_path.at(name).shape, Dims{3});
    EXPECT_EQ(by_path.at(name).partition, PartitionSpec{"fsdp"});
  }
  EXPECT_EQ(by_path.at("v.b").shape, Dims{2});
  EXPECT_EQ(by_path.at("skipped").shape, Dims{});
  EXPECT_TRUE(by_path.contains("skipped_in_a_row"));
}

TEST(Learner, ScalarsFollowTheSchedule) {
  const Learner learner(config(2));
  EXPECT_EQ(learner.scalars(2), (StepScalars{{"learning_rate", 0.01}, {"clip_global_norm", 2}, {"weight_decay", 0.1}}));
  EXPECT_DOUBLE_EQ(learner.scalars(0).at("learning_rate"), 0.01 / 3);
}

TEST(Learner, ChecksRanges) {
  Learner::Config c;
  c.clip_global_norm = 0;
  c.max_skipped_steps = 0;
  AdamW::Config adam;
  adam.b1 = 1;
  EXPECT_THROW(build(c), Error);
  EXPECT_THROW(build(adam), Error);
}

TEST(Learner, ConstantRatesAreAtLeastZeroAndFinite) {
  Learner::Config c;
  for (const auto& [rate, text] : std::map<double, std::string>{{-1, "-1.0"}, {kInf, "inf"}, {-kInf, "-inf"}}) {
    c.learning_rate = rate;
    EXPECT_STREQ(error_of([&] { build(c); })->what(),
                 ("invalid_argument at learning_rate: must be at least 0 and finite, is " + text).c_str());
  }
  c.learning_rate = kNan;
  EXPECT_THROW(build(c), Error);
  c.learning_rate = 0;
  build(c);
}

// A frozen parameter stays, keeps no state, and its gradient counts for nothing, not even in the norm.
TEST(Learner, FrozenParametersStay) {
  Learner::Config config;
  config.learning_rate = 0.1;
  config.clip_global_norm = 1;
  modify(config, Freeze{.parameters = "^w$"});
  modify(config, Freeze{.parameters = "^nothing$"});
  EXPECT_EQ(config.optimizer.as<OptimizerByPath>().rules.size(), 2u) << "a second rule, not a nest";
  EXPECT_EQ(error_of([&] { Learner(config).check_parameters(params()); })->code(), ErrorCode::invalid_argument);
  config.optimizer.as<OptimizerByPath>().rules.erase(config.optimizer.as<OptimizerByPath>().rules.begin());
  Learner(config).check_parameters(params());
  TestRun run(config, {{1, 2, 3}, {4, 5}});
  EXPECT_EQ(run.step(1, {{1e6, kNan, 0}, {3, 4}})[0], 5);
  EXPECT_EQ(run.w(), (std::vector<double>{1, 2, 3}));
  // The first step of Adam is the gradient's sign, whatever the clipping.
  EXPECT_NEAR(run.b()[0], 3.9, 1e-6);
  EXPECT_NEAR(run.b()[1], 4.9, 1e-6);
  for (const ParamInfo& array : Learner(config).describe(params())) EXPECT_NE(array.path.substr(0, 2), "0.");
  AdamW::Config no_learner;
  EXPECT_EQ(error_of([&] { modify(no_learner, Freeze{.parameters = "w"}); })->code(), ErrorCode::invalid_argument);
}

// From the formula of Ema, for the parameters that the learner made.
TEST(Learner, KeepsRunningMeans) {
  Learner::Config c = config(1);
  c.ema = Ema{.decay = 0.25};
  TestRun run(c, {{1, -0.5, 2}, {0.25, -3}});
  EXPECT_EQ(run.state("ema.w"), (std::vector<double>{1, -0.5, 2}));
  std::vector<double> want = run.w();
  for (int t = 1; t <= 4; ++t) {
    run.step(1, kGrads[static_cast<size_t>(t) - 1]);
    const double d = std::min(0.25, (1.0 + t) / (10 + t));  // 2/11, 3/12, then the limit
    for (size_t i = 0; i < 3; ++i) {
      want[i] = d * want[i] + (1 - d) * run.w()[i];
      EXPECT_NEAR(run.state("ema.w")[i], want[i], 1e-6) << t;
    }
  }
  const std::vector<double> before = run.state("ema.b");
  run.step(kNan, kGrads[0]);
  EXPECT_EQ(run.state("ema.b"), before);
  EXPECT_EQ(Learner(c).scalars(0).at("ema_decay"), 0.25);
}

TEST(Learner, MeansAreOfWhatIsTrained) {
  Learner::Config c;
  c.ema = Ema{};
  modify(c, Freeze{.parameters = "^w$"});
  std::vector<std::string> means;
  for (const ParamInfo& info : Learner(c).describe(params())) {
    if (info.path.starts_with("ema.")) means.push_back(info.path);
  }
  EXPECT_EQ(means, std::vector<std::string>{"ema.b"});
}

Learner::Config with_spikes() {
  Learner::Config c = config(kInf);
  c.max_skipped_steps = 100;
  c.skip_spikes = NormSpikes{.num_deviations = 3, .min_ratio = 2, .decay = 0.9, .warmup_steps = 4};
  return c;
}

// A gradient of this norm.
Weights of_norm(double norm) { return {{norm * 0.6, 0, norm * 0.8}, {0, 0}}; }

TEST(Learner, SkipsNormSpikesAndCountsThem) {
  TestRun run(with_spikes(), {{1, 2, 3}, {4, 5}});
  // Mean and variance of all steps, while they are few.
  for (const double norm : {1.0, 3.0, 2.0, 2.0}) EXPECT_EQ(run.step(1, of_norm(norm))[1], 0);
  EXPECT_NEAR(run.state("norm_mean")[0], 2, 1e-5);
  EXPECT_NEAR(run.state("norm_variance")[0], 0.5, 1e-5);
  const std::vector<Literal> before = run.everything_but_counters();
  EXPECT_EQ(run.step(1, of_norm(50))[1], 1);  // above 2 + 3 sqrt(0.5) and above 4
  EXPECT_EQ(run.everything_but_counters(), before);
  // It counted as the limit, 4.1213, so that what comes next is judged nearly as before.
  EXPECT_NEAR(run.state("norm_mean")[0], 2 + (4.12132 - 2) / 5, 1e-4);
  EXPECT_EQ(run.step(1, of_norm(3))[2], 0);
  EXPECT_NE(run.everything_but_counters(), before);
}

TEST(Learner, NonFiniteNormsDontPoisonTheStatistics) {
  TestRun run(with_spikes(), {{1, 2, 3}, {4, 5}});
  for (int i = 0; i < 5; ++i) run.step(1, of_norm(1));
  const std::vector<double> mean = run.state("norm_mean"), variance = run.state("norm_variance");
  EXPECT_EQ(run.step(1, of_norm(kNan))[1], 1);
  EXPECT_EQ(run.step(1, of_norm(kInf))[1], 2);
  EXPECT_EQ(run.step(kNan, of_norm(1))[1], 3);
  EXPECT_EQ(run.state("norm_mean"), mean);
  EXPECT_EQ(run.state("norm_variance"), variance);
  EXPECT_EQ(run.state("norm_count")[0], 5);
  EXPECT_EQ(run.step(1, of_norm(50))[1], 4) << "a spike is still one";
}

TEST(Learner, ALastingRiseIsFollowed) {
  TestRun run(with_spikes(), {{1, 2, 3}, {4, 5}});
  for (int i = 0; i < 6; ++i) run.step(1, of_norm(1));
  double skipped = 0;
  for (int i = 0; i < 60; ++i) skipped = run.step(1, of_norm(10))[2];
  EXPECT_EQ(skipped, 0);
  EXPECT_GT(run.step(1, of_norm(10))[1], 3);
}

TEST(Learner, SpikeRulesAreChecked) {
  Learner::Config c = with_spikes();
  c.skip_spikes->min_ratio = 0.5;
  EXPECT_EQ(error_of([&] { build(c); })->code(), ErrorCode::invalid_argument);
  c = with_spikes();
  c.ema = Ema{.decay = 1};
  EXPECT_EQ(error_of([&] { build(c); })->code(), ErrorCode::invalid_argument);
}

// Whatever optimized the parameters before: one optimizer, or several by path, whose last has the adapters.
TEST(Learner, AddLoRATrainsAdaptersAlone) {
  const auto adapted = [](const Slot<Optimizer>& optimizer) {
    Holder::Config tree;
    tree.learner.as<Learner>().optimizer = optimizer;
    modify(tree, AddLoRA{.rank = 2});
    const LoRA::Config& adapter = tree.linear.as<Linear>().dot.as<LoRA>();
    EXPECT_EQ(adapter.rank, 2);
    EXPECT_TRUE(adapter.dot.is<PlainDot>());
    return tree.learner.as<Learner>().optimizer.as<OptimizerByPath>();
  };
  AdamW::Config adamw;
  adamw.b1 = 0.5;
  OptimizerByPath::Config several;
  several.rules = {OptimizerRule::Config{}};
  several.otherwise = adamw;
  for (const Slot<Optimizer>& before : {Slot<Optimizer>(adamw), Slot<Optimizer>(several)}) {
    const OptimizerByPath::Config after = adapted(before);
    EXPECT_TRUE(after.otherwise.is<Frozen>());
    ASSERT_EQ(after.rules.size(), 1u);
    EXPECT_EQ(after.rules[0].as<OptimizerRule>().optimizer, Slot<Optimizer>(adamw));
  }
  // Once more: the adapters that come are trained as those that are there.
  Holder::Config twice;
  twice.learner.as<Learner>().optimizer = adamw;
  modify(twice, AddLoRA{.rank = 2});
  const Slot<Optimizer> once = twice.learner.as<Learner>().optimizer;
  modify(twice, AddLoRA{.rank = 3});
  EXPECT_EQ(twice.learner.as<Learner>().optimizer, once);
  Holder::Config frozen;
  frozen.learner.as<Learner>().optimizer = Frozen::Config{};
  EXPECT_EQ(error_of([&] { modify(frozen, AddLoRA{}); })->code(), ErrorCode::invalid_argument);
  Linear::Config no_learner;
  EXPECT_EQ(error_of([&] { modify(no_learner, AddLoRA{}); })->code(), ErrorCode::invalid_argument);
  EXPECT_TRUE(no_learner.dot.is<PlainDot>()) << "unchanged";
}

}  // namespace
}  // namespace tenon
