#include "tenon/trainer/trap.h"

#include <gmock/gmock.h>

#include "tenon/data/language_dataset.h"
#include "tenon/optim/adamw.h"
#include "tenon/optim/learner.h"
#include "tenon/trainer/test_run.h"
#include "tenon/trainer/train_session.h"

namespace tenon {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class TrapTest : public RunTest {
 protected:
  static const CompileCache& cache() {
    static const CompileCache kept;
    return kept;
  }
  NonFiniteReport trap(const TinyModel::Config& model, const Mesh& mesh = {}, int64_t accumulation = 1) const {
    Trainer::Config c = config(40);
    c.model = model;
    const Trainer t(c);
    const int devices = static_cast<int>(mesh.num_devices());
    TrainSession s(t.model(), t.learner(), {cpu(devices), {mesh, token_batch_types(8, 16), accumulation}, 3, &cache()});
    s.initialize();
    const Batch batch = t.data().batch(0);
    EXPECT_GT(metric(s, s.train_step(0, batch), "skipped"), 0);
    return s.trap(0, batch);
  }
  static double metric(const TrainSession& s, const Array& metrics, const std::string& name) {
    const auto& names = s.metric_names();
    return metrics.to_literal().as_double(std::find(names.begin(), names.end(), name) - names.begin());
  }
  static TinyModel::Config with_gain(double gain) {
    TinyModel::Config c;
    c.gain = gain;
    return c;
  }
};

// 1 becomes 1e15, 1e30, and in the third layer more than f32 holds.
TEST_F(TrapTest, TheLayerThatOverflows) {
  const NonFiniteReport r = trap(with_gain(1e15));
  EXPECT_EQ(r.target, "the loss");
  EXPECT_EQ(r.path, "layers.2");
  EXPECT_EQ(r.op, "mul");
  EXPECT_THAT(r.loops, testing::IsEmpty());
  EXPECT_EQ(r.value.num_infinite, 1024);
  EXPECT_EQ(r.value.num_nan, 0);
  ASSERT_FALSE(r.inputs.empty());
  EXPECT_EQ(r.inputs[0].source, "layers.2/add");
  EXPECT_EQ(r.inputs[0].type, (TensorType{DType::f32, {8, 16, 8}}));
  EXPECT_GT(r.inputs[0].max, 1e30);
  EXPECT_LT(r.inputs[0].max, 1e32);
  EXPECT_EQ(r.inputs[0].num_infinite + r.inputs[0].num_nan, 0);
  const std::string text = format_report(r);
  EXPECT_THAT(text, StartsWith("trap: the loss went non-finite at layers.2/mul\ntrap:   result: f32[8,16,8], 1024 "
                               "infinite, 0 NaN\n"));
  EXPECT_THAT(text, HasSubstr("trap:   input 0: f32[8,16,8], finite ones from -"));
}

TEST_F(TrapTest, DevicesAndMicrobatches) {
  const NonFiniteReport r = trap(with_gain(1e15), Mesh{{"fsdp", 2}, {"model", 2}}, 2);
  EXPECT_EQ(r.path, "layers.2");
  EXPECT_EQ(r.inputs.at(0).type, (TensorType{DType::f32, {4, 16, 8}}));
  EXPECT_THAT(r.loops, testing::ElementsAre("round 1 of 2 of a loop at model"));
  EXPECT_THAT(format_report(r), HasSubstr("\ntrap:   in round 1 of 2 of a loop at model\n"));
}

// The loss is finite, the sum of the squares of the gradients isn't.
TEST_F(TrapTest, Gradients) {
  const NonFiniteReport r = trap(with_gain(1e8));
  EXPECT_EQ(r.target, "the gradient norm");
  EXPECT_EQ(r.path, "learner");
}

// A learning rate so high that the parameters themselves overflow.
TEST_F(TrapTest, ParametersThatWereBrokenBefore) {
  Trainer::Config c = config(40);
  Learner::Config learner;
  learner.learning_rate = 1e38;
  learner.optimizer.as<AdamW>().weight_decay = 100;
  c.learner = learner;
  const Trainer t(c);
  TrainSession s(t.model(), t.learner(), {cpu(1), {{}, token_batch_types(8, 16), 1}, 3, &cache()});
  s.initialize();
  int64_t step = 0;
  while (metric(s, s.train_step(step, t.data().batch(step)), "skipped") == 0) ASSERT_LT(++step, 5);
  const NonFiniteReport r = s.trap(step, t.data().batch(step));
  EXPECT_EQ(r.op, "") << format_report(r);
  EXPECT_EQ(r.path, "embedding");
  EXPECT_GT(r.value.num_infinite + r.value.num_nan, 0);
  EXPECT_THAT(format_report(r), HasSubstr("went non-finite at embedding\ntrap:   before the step: f32[259,8]"));
}

TEST_F(TrapTest, WhatIsFiniteIsSaid) {
  const Trainer t(config(40));
  TrainSession s(t.model(), t.learner(), {cpu(1), {{}, token_batch_types(8, 16), 1}, 3, &cache()});
  s.initialize();
  try {
    s.trap(0, t.data().batch(0));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::non_finite);
    EXPECT_THAT(e.what(), HasSubstr("when it runs again"));
  }
}

TEST(LayerPath, NumbersOfLayers) {
  std::vector<std::pair<std::string, int64_t>> loops{{"", 1}, {"decoder", 3}, {"decoder.layers.1::2.inner", 5}};
  EXPECT_EQ(layer_path("decoder.layers.1::2.inner.stack.0::1.w", loops), "decoder.layers.7.inner.stack.5.w");
  EXPECT_EQ(loops, (std::vector<std::pair<std::string, int64_t>>{{"", 1}}));
  EXPECT_EQ(layer_path("decoder.layers.0::1.w", loops), "decoder.layers.0::1.w");  // outside the loop: all layers
  EXPECT_EQ(layer_path("layers.0::1", loops), "layers.1");
  EXPECT_EQ(layer_path("", loops), "");
}

}  // namespace
}  // namespace tenon
