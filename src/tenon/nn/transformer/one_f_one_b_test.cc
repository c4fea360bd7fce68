// The schedule one_f_one_b against one device and against gpipe, value and gradient, in the interpreter.
#include "tenon/nn/transformer/one_f_one_b.h"

#include <gmock/gmock.h>

#include "tenon/config/validate.h"
#include "tenon/ir/mesh_scope.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/random.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/experts/mixture_of_experts.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/language/distilled_lm.h"
#include "tenon/nn/testing/tiny_lm.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

CausalLm::Config piped(CausalLm::Config c, int64_t microbatches, PipelineSchedule schedule) {
  auto& decoder = c.decoder.as<Decoder>();
  decoder.form = StackForm::pipeline;
  decoder.pipeline.microbatches = microbatches;
  decoder.pipeline.schedule = schedule;
  return c;
}

// Of 4 packed rows; the last is all padding.
const Values& batch() {
  static const Values values = packed_batch({{5, 3}, {8}, {2, 2, 2}, {}}, 11, 1);
  return values;
}

Values train(const CausalLm::Config& config, const Mesh& mesh) {
  const MeshScope scope(mesh);
  const CausalLm model(config);
  return loss_and_gradients(model, initial_values(model, 3), batch());
}

// The loss and all gradients, and of what is collected that which begins with `also`.
void expect_same(const Values& got, const Values& want, const std::string& also = "loss") {
  size_t compared = 0;
  for (const auto& [name, value] : want) {
    if (name != "loss" && !name.starts_with("grads.") && !name.starts_with(also)) continue;
    ASSERT_TRUE(got.contains(name)) << name;
    EXPECT_EQ(difference(got.at(name), value, 2e-5), "") << name;
    ++compared;
  }
  EXPECT_GT(compared, 10U);
}

void expect_parity(const CausalLm::Config& config, int64_t microbatches, const Mesh& mesh) {
  SCOPED_TRACE(to_string(mesh));
  expect_same(train(piped(config, microbatches, PipelineSchedule::one_f_one_b), mesh), train(config, Mesh()));
}

void expect_as_gpipe(const CausalLm::Config& config, int64_t microbatches, const Mesh& mesh) {
  const Values want = train(piped(config, microbatches, PipelineSchedule::gpipe), mesh);
  const Values got = train(piped(config, microbatches, PipelineSchedule::one_f_one_b), mesh);
  EXPECT_EQ(got.size(), want.size());
  expect_same(got, want, "summaries.");
}

TEST(OneForwardOneBackward, IsTheStackOnOneDevice) {
  const CausalLm::Config config = tiny_lm(StackForm::scan);
  expect_parity(config, 4, Mesh{{"pipeline", 2}});
  expect_parity(config, 4, Mesh{{"pipeline", 4}});
  expect_parity(config, 2, Mesh{{"pipeline", 4}});  // fewer microbatches than stages
  expect_parity(config, 1, Mesh{{"pipeline", 2}});
  expect_parity(config, 2, Mesh{{"pipeline", 2}, {"data", 2}});
}

TEST(OneForwardOneBackward, HeadsPositionsAndChunks) {
  CausalLm::Config config = tiny_lm(StackForm::scan);
  config.head = LinearHead::Config{};
  LearnedPositions::Config positions;
  positions.max_positions = 8;
  config.position_embedding = positions;
  config.loss_chunks = 2;
  config.loss.as<CrossEntropy>().label_smoothing = 0.1;
  expect_parity(config, 2, Mesh{{"pipeline", 2}});
  expect_as_gpipe(config, 2, Mesh{{"pipeline", 2}});
}

TEST(OneForwardOneBackward, PatternsAndAuxiliaryLosses) {
  expect_parity(tiny_mixture_lm(), 4, Mesh{{"pipeline", 2}});
  expect_as_gpipe(tiny_mixture_lm(), 4, Mesh{{"pipeline", 2}});
}

// A parameter that all layers read, and none of them owns.
TEST(OneForwardOneBackward, ParametersThatLayersShare) {
  CausalLm::Config config = tiny_lm(StackForm::scan);
  DotProductAttention::Config core;
  core.bias = SharedBias::Config{};
  attention_of(config).core = core;
  RelativeBias::Config bias;
  bias.num_heads = attention_of(config).num_heads;
  bias.num_buckets = 4;
  config.decoder.as<Decoder>().attention_bias = bias;
  expect_parity(config, 2, Mesh{{"pipeline", 4}});
}

TEST(OneForwardOneBackward, RematPolicies) {
  CausalLm::Config config = tiny_lm(StackForm::scan);
  config.decoder.as<Decoder>().pattern[0]->remat = SaveNothing{};
  expect_parity(config, 2, Mesh{{"pipeline", 2}});
  config.decoder->remat = SaveDots{};
  config.remat = SaveNothing{};
  expect_parity(config, 2, Mesh{{"pipeline", 2}});
}

// Sums over microbatches are in f32 in any case.
TEST(OneForwardOneBackward, ComputesInBf16) {
  CausalLm::Config config = tiny_lm(StackForm::scan);
  config.compute_dtype = DType::bf16;
  const Mesh mesh{{"pipeline", 2}};
  const Values want = train(piped(config, 4, PipelineSchedule::gpipe), mesh);
  for (const auto& [name, value] : train(piped(config, 4, PipelineSchedule::one_f_one_b), mesh)) {
    EXPECT_EQ(value.dtype(), want.at(name).dtype()) << name;
    EXPECT_EQ(difference(value, want.at(name), 0.02), "") << name;
  }
}

// What is dropped depends on the microbatch and the layer, and is the same when a layer is computed again.
TEST(OneForwardOneBackward, DrawsAreThoseOfGpipe) {
  CausalLm::Config config = tiny_lm(StackForm::scan);
  DropoutResidual::Config residual;
  residual.rate = 0.3;
  config.decoder.as<Decoder>().pattern[0].as<DecoderLayer>().residual = residual;
  const auto gradients = [&](PipelineSchedule schedule) {
    const MeshScope scope(Mesh{{"pipeline", 2}});
    const CausalLm model(piped(config, 2, schedule));
    return evaluate(initial_values(model, 3), batch(), [&](const Nest& state, const Nest& in) {
      const Tensor key = make_key(7);
      const auto both = value_and_grad(
          [&](const Nest& params) {
            const LossSum loss = functional(model, &Model::forward, params, key, true, in).result;
            return std::pair(loss.sum, loss.weight);
          },
          state);
      Nest out{{"loss", both.value}};
      for (const auto& [name, grad] : both.grads) out.emplace("grads." + name, grad);
      return out;
    });
  };
  const Values want = gradients(PipelineSchedule::gpipe);
  expect_same(gradients(PipelineSchedule::one_f_one_b), want);
  EXPECT_NE(want.at("loss").as_double(0), 0);
}

// The gradient of a function of the loss, not of the loss alone.
TEST(OneForwardOneBackward, TheCotangentOfTheLossCounts) {
  const MeshScope scope(Mesh{{"pipeline", 2}});
  const CausalLm model(piped(tiny_lm(StackForm::scan), 2, PipelineSchedule::one_f_one_b));
  const auto gradients = [&](double factor) {
    return evaluate(initial_values(model, 3), batch(), [&](const Nest& state, const Nest& in) {
      return grad(
          [&](const Nest& params) {
            return functional(model, &Model::forward, params, Tensor(), true, in).result.sum * factor;
          },
          state);
    });
  };
  const Values one = gradients(1), three = gradients(3);
  for (const auto& [name, value] : one) {
    for (int64_t i = 0; i < value.size(); ++i) {
      ASSERT_NEAR(three.at(name).as_double(i), 3 * value.as_double(i), 1e-5) << name;
    }
  }
}

TEST(OneForwardOneBackward, OneStageAndEvaluationsKnowNoSchedule) {
  const CausalLm::Config config = tiny_lm(StackForm::scan);
  EXPECT_EQ(train(piped(config, 4, PipelineSchedule::one_f_one_b), Mesh{{"data", 4}}), train(config, Mesh()));
  const auto measure = [&](PipelineSchedule schedule) {
    const MeshScope scope(Mesh{{"pipeline", 2}});
    const CausalLm model(piped(config, 2, schedule));
    return evaluate(initial_values(model, 3), batch(), [&](const Nest& state, const Nest& in) {
      const auto [loss, collected] = functional(model, &Model::forward, state, Tensor(), false, in);
      Nest out = flatten_collected(collected);
      out.emplace("loss", loss.sum);
      return out;
    });
  };
  EXPECT_EQ(measure(PipelineSchedule::one_f_one_b), measure(PipelineSchedule::gpipe));
}

TEST(OneForwardOneBackward, SaysWhatItCantDo) {
  const Mesh mesh{{"pipeline", 2}};
  CausalLm::Config rounds = piped(tiny_lm(StackForm::scan), 2, PipelineSchedule::one_f_one_b);
  rounds.decoder.as<Decoder>().pipeline.rounds = 2;
  const auto invalid = error_of([&] { validate(rounds); });
  ASSERT_TRUE(invalid);
  EXPECT_EQ(invalid->path(), "decoder.pipeline.rounds");

  CausalLm::Config updated = tiny_mixture_lm();
  updated.decoder.as<Decoder>()
      .pattern[1]
      .as<DecoderLayer>()
      .feed_forward.as<MixtureOfExperts>()
      .router.as<TopKRouter>()
      .bias_update_rate = 1e-3;
  const auto state = error_of([&] { train(piped(updated, 2, PipelineSchedule::one_f_one_b), mesh); });
  ASSERT_TRUE(state);
  EXPECT_EQ(state->code(), ErrorCode::unsupported);
  EXPECT_THAT(state->what(), HasSubstr("a state that is updated in a pipeline"));

  DistilledLm::Config distilled;
  distilled.vocab_size = 11;
  distilled.student = piped(tiny_lm(StackForm::scan), 2, PipelineSchedule::one_f_one_b);
  distilled.teacher = tiny_lm(StackForm::scan);
  const auto apart = error_of([&] {
    const MeshScope scope(mesh);
    const DistilledLm model(distilled);
    evaluate(initial_values(model, 3), batch(), [&](const Nest& s, const Nest& in) {
      return Nest{{"loss", functional(model, &Model::forward, s, Tensor(), true, in).result.sum}};
    });
  });
  ASSERT_TRUE(apart);
  EXPECT_EQ(apart->code(), ErrorCode::unsupported);
  EXPECT_EQ(apart->path(), "student.decoder");
  EXPECT_THAT(apart->hint(), HasSubstr("gpipe"));

  const auto twice = error_of([&] {
    const MeshScope scope(mesh);
    const CausalLm model(piped(tiny_lm(StackForm::scan), 2, PipelineSchedule::one_f_one_b));
    evaluate(initial_values(model, 3), batch(), [&](const Nest& s, const Nest& in) {
      const auto gradient = [&](const Nest& params) {
        return std::pair(sum_all(loss_and_gradients(model, params, in).at("grads.decoder.norm.scale")), Nest());
      };
      return value_and_grad(gradient, s).grads;
    });
  });
  ASSERT_TRUE(twice);
  EXPECT_EQ(twice->code(), ErrorCode::not_differentiable) << twice->what();
}

}  // namespace
}  // namespace tenon
