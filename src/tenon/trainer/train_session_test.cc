#include "tenon/trainer/train_session.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tenon/base/file.h"
#include "tenon/data/language_dataset.h"
#include "tenon/data/text_dataset.h"
#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/random.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/optim/adamw.h"
#include "tenon/trainer/gradients.h"
#include "tenon/trainer/test_run.h"

namespace tenon {
namespace {

// A session of the tiny model, and its metrics step by step.
class SessionTest : public RunTest {
 protected:
  std::unique_ptr<Trainer> trainer(const TinyModel::Config& model = {}) const {
    Trainer::Config c = config(40);
    c.model = model;
    return std::make_unique<Trainer>(c);
  }
  static TrainSession session(const Trainer& t, const Mesh& mesh = {}, int64_t accumulation = 1) {
    static const CompileCache cache;
    const int devices = static_cast<int>(mesh.num_devices());
    return TrainSession(t.model(), t.learner(),
                        {cpu(devices), {mesh, token_batch_types(8, 16), accumulation}, 3, &cache});
  }
  static double metric(const TrainSession& s, const Array& metrics, const std::string& name) {
    const auto& names = s.metric_names();
    const auto at = std::find(names.begin(), names.end(), name);
    EXPECT_NE(at, names.end()) << name;
    return metrics.to_literal().as_double(at - names.begin());
  }
  static std::vector<double> train(TrainSession& s, const Trainer& t, int64_t steps) {
    std::vector<double> out;
    for (int64_t i = 0; i < steps; ++i) out.push_back(metric(s, s.train_step(i, t.data().batch(i)), "loss"));
    return out;
  }
  static void expect_close(const std::vector<double>& a, const std::vector<double>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5 * std::abs(b[i])) << "step " << i;
  }
};

TEST_F(SessionTest, MeshesAgree) {
  const auto t = trainer();
  TrainSession one = session(*t);
  one.initialize();
  const auto start = one.export_state();
  const std::vector<double> expected = train(one, *t, 20);
  EXPECT_LT(expected.back(), expected.front() - 1);
  for (const Mesh& mesh : {Mesh{{"fsdp", 2}, {"model", 2}}, Mesh{{"data", 2}, {"expert", 2}}}) {
    TrainSession four = session(*t, mesh);
    four.initialize();
    EXPECT_EQ(four.export_state(), start) << to_string(mesh);  // to the bit
    expect_close(train(four, *t, 20), expected);
  }
}

TEST_F(SessionTest, FormsAgree) {
  TinyModel::Config unrolled;
  unrolled.form = StackForm::unroll;
  const auto a = trainer(), b = trainer(unrolled);
  TrainSession scan = session(*a), unroll = session(*b);
  scan.initialize();
  unroll.initialize();
  std::map<std::string, Literal> left, right;
  for (auto& [name, value] : scan.export_state()) left.emplace(name, value);
  for (auto& [name, value] : unroll.export_state()) right.emplace(name, value);
  EXPECT_EQ(left, right);
  expect_close(train(scan, *a, 10), train(unroll, *b, 10));
}

TEST_F(SessionTest, MicrobatchesAgree) {
  const auto t = trainer();
  TrainSession whole = session(*t);
  whole.initialize();
  const std::vector<double> expected = train(whole, *t, 10);
  for (int64_t accumulation : {2, 8}) {
    TrainSession parts = session(*t, {}, accumulation);
    parts.initialize();
    expect_close(train(parts, *t, 10), expected);
    for (const auto& [name, value] : parts.export_state()) {
      if (name == "seen") {
        EXPECT_EQ(value.as_double(0), 10 * 8 * 16);
      }
    }
  }
  EXPECT_THROW(session(*t, {}, 3), Error);
}

TEST_F(SessionTest, SkippedStepsLeaveTheStateAlone) {
  TinyModel::Config poisoned;
  poisoned.poison = 'z';  // not in the text
  const auto t = trainer(poisoned);
  TrainSession s = session(*t);
  s.initialize();
  train(s, *t, 2);
  const auto before = s.export_state();
  Batch bad = t->data().batch(2);
  bad.at("input_ids").set_int(5, 'z');
  const Array metrics = s.train_step(2, bad);
  EXPECT_TRUE(std::isnan(metric(s, metrics, "loss")));
  EXPECT_EQ(metric(s, metrics, "skipped"), 1);
  const auto after = s.export_state();
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i].first.starts_with("learner.skipped")) continue;
    EXPECT_EQ(after[i], before[i]) << before[i].first;
  }
  EXPECT_EQ(metric(s, s.train_step(3, t->data().batch(3)), "skipped_in_a_row"), 0);
}

TEST_F(SessionTest, MetricsAndSummaries) {
  const auto t = trainer();
  TrainSession s = session(*t);
  s.initialize();
  const Array metrics = s.train_step(0, t->data().batch(0));
  EXPECT_EQ(metric(s, metrics, "num_tokens"), static_cast<double>(count_labels(t->data().batch(0))));
  EXPECT_GT(metric(s, metrics, "grad_norm"), 0);
  EXPECT_GT(metric(s, metrics, "layers.0::2.mean_square"), 0);
  EXPECT_GT(s.flops(), 6.0 * 8 * 16 * 8 * 259);  // the head alone
}

TEST_F(SessionTest, EvaluationIsTheMeanOverHeldOutTokens) {
  const auto t = trainer();
  TrainSession s = session(*t);
  s.initialize();
  const auto held_out = t->data().held_out();
  const EvalResult r = *s.evaluate(*held_out);
  EXPECT_EQ(r.weight, 600);  // a tenth of 6000 bytes, each labelled once
  EXPECT_FALSE(s.evaluate(*held_out, [] { return false; }).has_value());
}

TEST_F(SessionTest, EvaluatesWithRunningMeansOfParameters) {
  const auto loss_after_steps = [&](std::optional<Ema> ema) {
    Trainer::Config c = config(40);
    c.learner.as<Learner>().ema = ema;
    const Trainer t(c);
    TrainSession s = session(t);
    s.initialize();
    train(s, t, 5);
    return s.evaluate(*t.data().held_out())->loss;
  };
  const double of_parameters = loss_after_steps({});
  EXPECT_EQ(loss_after_steps(Ema{.decay = 0}), of_parameters) << "means of the last step alone";
  EXPECT_EQ(loss_after_steps(Ema{.decay = 0.9, .evaluate = false}), of_parameters);
  EXPECT_GT(loss_after_steps(Ema{.decay = 0.9}), of_parameters + 1e-3) << "means lag behind";
}

// On the CPU that is the same memory.
TEST_F(SessionTest, OffloadingTheOptimizersStateTrainsTheSame) {
  Trainer::Config c = config(40);
  const Trainer plain(c);
  c.learner.as<Learner>().offload = OptimizerOffload{};
  const Trainer offloaded(c);
  for (const Mesh& mesh : {Mesh(), Mesh{{"fsdp", 2}, {"model", 2}}}) {
    TrainSession a = session(plain, mesh), b = session(offloaded, mesh);
    a.initialize();
    b.initialize();
    EXPECT_EQ(a.export_state(), b.export_state()) << to_string(mesh);
    expect_close(train(a, plain, 5), train(b, offloaded, 5));
  }
}

TEST_F(SessionTest, OffloadedStateIsWhatIsNamed) {
  Trainer::Config c = config(40);
  c.learner.as<Learner>().offload = OptimizerOffload{.arrays = "^v\\..*layers"};
  c.learner.as<Learner>().ema = Ema{};
  const Trainer t(c);
  int64_t offloaded = 0;
  for (const StateArray& array : layout_state(t.model(), t.learner()).arrays) {
    const bool expected = array.name.starts_with("learner.v.layers.");
    EXPECT_EQ(array.memory, expected ? MemoryKind::pinned_host : MemoryKind::device) << array.name;
    offloaded += expected ? 1 : 0;
  }
  EXPECT_EQ(offloaded, 4);  // w and b of two layers of the pattern
  c.learner.as<Learner>().offload->arrays = "momentum";
  const Trainer wrong(c);
  const auto e = error_of([&] { layout_state(wrong.model(), wrong.learner()); });
  ASSERT_TRUE(e);
  EXPECT_EQ(e->path(), "learner.offload.arrays");
  EXPECT_THAT(e->what(), testing::HasSubstr("a match in names such as "));
}

TEST_F(SessionTest, WhatTheOptimizerKeepsMayBeSplitAlone) {
  const auto t = trainer();
  const Mesh mesh{{"data", 2}};
  const CompileCache cache;
  TrainSession one = session(*t);
  TrainSession two(t->model(), t->learner(), {cpu(2), {mesh, token_batch_types(8, 16), 1, {"data"}}, 3, &cache});
  int64_t split = 0;
  for (const StateArray& array : two.layout().arrays) {
    const bool named = to_string(array.partition).find("data") != std::string::npos;
    EXPECT_EQ(named, array.name.starts_with(kLearnerPrefix) && !array.shape.empty()) << array.name;
    split += named ? 1 : 0;
  }
  EXPECT_EQ(split, 2 * 6);  // both moments of the embedding, w and b of two layers of the pattern, and the head
  one.initialize();
  two.initialize();
  expect_close(train(two, *t, 5), train(one, *t, 5));
}

TEST_F(SessionTest, APipelineNeedsLayersToSplit) {
  const auto t = trainer();
  const auto e = error_of([&] { session(*t, Mesh{{"pipeline", 2}}); });
  ASSERT_TRUE(e);
  EXPECT_EQ(e->code(), ErrorCode::unsupported);
  EXPECT_EQ(e->path(), "mesh.pipeline");
}

TEST_F(SessionTest, SchedulesAndThresholdsDontChangeTheProgram) {
  Trainer::Config c = config(40);
  const Trainer a(c);
  Learner::Config learner;
  learner.learning_rate = 1.0;
  learner.clip_global_norm = 7;
  AdamW::Config adam;
  adam.weight_decay = 0;
  learner.optimizer = adam;
  c.learner = learner;
  const Trainer b(c);
  const StepSettings settings{Mesh(), token_batch_types(8, 16), 1, {}};
  EXPECT_EQ(make_train_program(a.model(), a.learner(), settings).program.text,
            make_train_program(b.model(), b.learner(), settings).program.text);
}

// Loss and gradient of the head in closed form, with layers that do nothing, by the interpreter.
TEST(Gradients, OfASoftmax) {
  TinyModel::Config c;
  c.dim = 2;
  c.repeats = 1;
  const TinyModel model(c);
  const std::vector<ParamInfo> infos = describe_state(model);
  std::vector<Literal> args;
  std::vector<TensorType> types;
  for (const ParamInfo& info : infos) args.emplace_back(TensorType{DType::f32, info.logical_shape()});
  size_t embedding = 0;
  for (size_t i = 0; i < infos.size(); ++i) {
    if (infos[i].path == "embedding") embedding = i;
  }
  for (int64_t i = 0; i < 2 * kVocab; ++i) args[embedding].set(i, std::sin(static_cast<double>(i)));
  const std::vector<int64_t> ids = {3, 5, 3, 9, 200, 1, 0, 2}, labels = {5, 3, -1, 200, 1, 0, -1, 2};
  args.push_back(Literal::from(DType::i32, {4, 2}, ids));
  args.push_back(Literal::from(DType::i32, {4, 2}, labels));
  for (const Literal& a : args) types.push_back(a.type());

  for (int64_t accumulation : {1, 2, 4}) {
    const Graph graph = make_graph(types, [&](const std::vector<Tensor>& t) {
      Nest params, states;
      for (size_t i = 0; i < infos.size(); ++i) (infos[i].trainable ? params : states).emplace(infos[i].path, t[i]);
      const Nest batch{{"input_ids", t[infos.size()]}, {"target_labels", t[infos.size() + 1]}};
      const Gradients g = gradients(model, params, states, batch, make_key(0), accumulation);
      return std::vector<Tensor>{g.loss, g.weight, g.grads.at("out"), g.states.at("seen")};
    });
    const std::vector<Literal> result = interpret(graph, args);
    EXPECT_NEAR(result[0].as_double(0), std::log(259.0), 1e-6);
    EXPECT_EQ(result[1].as_double(0), 6);
    EXPECT_EQ(result[3].as_double(0), 6);
    for (int64_t d = 0; d < 2; ++d) {
      for (int64_t v = 0; v < kVocab; ++v) {
        double expected = 0;
        for (size_t i = 0; i < ids.size(); ++i) {
          if (labels[i] < 0) continue;
          const double x = std::sin(static_cast<double>(2 * ids[i] + d));
          expected += x * (1.0 / 259 - (labels[i] == v ? 1 : 0)) / 6;
        }
        EXPECT_NEAR(result[2].as_double(d * kVocab + v), expected, 1e-7) << d << ", " << v;
      }
    }
  }
}

TEST(Gradients, ABatchWithoutTokensHasLossZero) {
  const TinyModel model{TinyModel::Config()};
  std::vector<TensorType> types;
  std::vector<Literal> args;
  const std::vector<ParamInfo> infos = describe_state(model);
  for (const ParamInfo& info : infos) types.push_back({DType::f32, info.logical_shape()});
  types.push_back({DType::i32, {2, 2}});
  for (const TensorType& type : types) args.emplace_back(type);
  const Graph graph = make_graph(types, [&](const std::vector<Tensor>& t) {
    Nest params, states;
    for (size_t i = 0; i < infos.size(); ++i) (infos[i].trainable ? params : states).emplace(infos[i].path, t[i]);
    const Nest batch{{"input_ids", t.back()}, {"target_labels", t.back() + -1.0}};
    const Gradients g = gradients(model, params, states, batch, make_key(0), 1);
    return std::vector<Tensor>{g.loss, global_norm(g.grads)};
  });
  for (const Literal& value : interpret(graph, args)) EXPECT_EQ(value.as_double(0), 0);
}

}  // namespace
}  // namespace tenon
