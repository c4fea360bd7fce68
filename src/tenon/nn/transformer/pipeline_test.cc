// Layers over the devices of a pipeline against the same layers on one, value and gradient, in the interpreter.
#include "tenon/nn/transformer/pipeline.h"

#include <gmock/gmock.h>

#include "tenon/ir/mesh_scope.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/testing/tiny_lm.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

CausalLm::Config piped(CausalLm::Config c, const PipelineConfig& pipeline) {
  c.decoder.as<Decoder>().form = StackForm::pipeline;
  c.decoder.as<Decoder>().pipeline = pipeline;
  return c;
}

// Of 4 packed rows; the last is all padding.
Values train(const CausalLm::Config& config, const Mesh& mesh) {
  const MeshScope scope(mesh);
  const CausalLm model(config);
  return loss_and_gradients(model, initial_values(model, 3), packed_batch({{5, 3}, {8}, {2, 2, 2}, {}}, 11, 1));
}

void expect_same(const CausalLm::Config& config, const PipelineConfig& pipeline, const Mesh& mesh) {
  SCOPED_TRACE(to_string(mesh));
  const Values want = train(config, Mesh()), got = train(piped(config, pipeline), mesh);
  size_t compared = 0;
  for (const auto& [name, value] : want) {
    // Summaries of microbatches are averaged otherwise.
    if (name != "loss" && !name.starts_with("grads.")) continue;
    ASSERT_TRUE(got.contains(name)) << name;
    EXPECT_EQ(difference(got.at(name), value, 2e-5), "") << name;
    ++compared;
  }
  EXPECT_GT(compared, 10U);
}

TEST(Pipeline, IsTheStackOnOneDevice) {
  const CausalLm::Config config = tiny_lm(StackForm::scan);
  expect_same(config, {.microbatches = 4}, Mesh{{"pipeline", 4}});
  expect_same(config, {.microbatches = 2}, Mesh{{"pipeline", 2}, {"data", 2}});
  expect_same(config, {.microbatches = 1}, Mesh{{"pipeline", 2}});
}

TEST(Pipeline, RoundsOfFewerLayers) {
  const CausalLm::Config config = tiny_lm(StackForm::scan);
  expect_same(config, {.microbatches = 2, .rounds = 2}, Mesh{{"pipeline", 2}});
  expect_same(config, {.microbatches = 4, .rounds = 2}, Mesh{{"pipeline", 2}});
}

TEST(Pipeline, OneStageIsAScanToTheBit) {
  const CausalLm::Config config = tiny_lm(StackForm::scan);
  EXPECT_EQ(train(piped(config, {}), Mesh{{"data", 4}}), train(config, Mesh()));
}

TEST(Pipeline, PatternsAndAuxiliaryLosses) {
  expect_same(tiny_mixture_lm(), {.microbatches = 2}, Mesh{{"pipeline", 2}});
}

TEST(Pipeline, MicrobatchesAreStrided) {
  const Values out = evaluate({}, {{"x", Literal(TensorType{DType::i32, {6}})}}, [](const Nest&, const Nest& in) {
    const Tensor split = split_microbatches(iota(in.at("x").type(), 0), 3);
    return Nest{{"split", split}, {"joined", join_microbatches(split)}};
  });
  EXPECT_EQ(out.at("split"), Literal::from(DType::i32, {3, 2}, std::vector<int64_t>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(out.at("joined"), Literal::from(DType::i32, {6}, std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
}

TEST(Pipeline, SaysWhatDoesntDivide) {
  const auto error = [](const PipelineConfig& pipeline, const Mesh& mesh) {
    return error_of([&] { train(piped(tiny_lm(StackForm::scan), pipeline), mesh); });
  };
  const Mesh two{{"pipeline", 2}};
  const auto layers = error({.microbatches = 4}, Mesh{{"pipeline", 3}}), rows = error({.microbatches = 3}, two),
             rounds = error({.microbatches = 4, .rounds = 3}, two), few = error({.microbatches = 1, .rounds = 2}, two);
  for (const auto& e : {layers, rows, rounds, few}) {
    ASSERT_TRUE(e);
    EXPECT_EQ(e->code(), ErrorCode::mesh_mismatch) << e->what();
  }
  EXPECT_THAT(layers->what(), HasSubstr("layers don't divide over the pipeline (got 4 over 3)"));
  EXPECT_THAT(rows->what(), HasSubstr("got 4 rows in 3 microbatches, each over 1 devices"));
  EXPECT_THAT(rounds->what(), HasSubstr("got 4 over 6"));
  EXPECT_THAT(few->what(), HasSubstr("got 1 microbatches over 2 stages"));
}

// 4 rows in 2 microbatches are 2 each: too few for 2 x 2 devices, with either schedule.
TEST(Pipeline, AMicrobatchDividesOverTheMesh) {
  for (const PipelineSchedule schedule : {PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b}) {
    const CausalLm::Config config = piped(tiny_lm(StackForm::scan), {.microbatches = 2, .schedule = schedule});
    const auto e = error_of([&] { train(config, Mesh{{"pipeline", 2}, {"data", 2}, {"fsdp", 2}}); });
    ASSERT_TRUE(e);
    EXPECT_EQ(e->code(), ErrorCode::mesh_mismatch);
    EXPECT_EQ(e->path(), "decoder.pipeline.microbatches");
    EXPECT_THAT(e->what(), HasSubstr("got 4 rows in 2 microbatches, each over 4 devices"));
    EXPECT_THAT(e->what(), HasSubstr("expected a multiple of 8 rows"));
    EXPECT_THAT(e->hint(), HasSubstr("data.batch_size"));
  }
}

}  // namespace
}  // namespace tenon
