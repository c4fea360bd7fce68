#include "tenon/tune/search_space.h"

#include <gmock/gmock.h>

#include <set>

#include "tenon/config/registry.h"
#include "tenon/experiments/experiment.h"
#include "tenon/ir/testing/errors.h"

namespace tenon {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class SearchSpaceTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { register_everything(Registry::global()); }
  static std::set<std::string> meshes(const std::vector<Candidate>& candidates) {
    std::set<std::string> out;
    for (const Candidate& c : candidates) out.insert(to_string(c.mesh));
    return out;
  }
};

// 8 = 2^3 is a product of three sizes in 10 ways.
TEST_F(SearchSpaceTest, EveryCombinationOnce) {
  SearchSpace space;
  space.remat = {"as_is", "dots"};
  space.microbatches = {1, 2};
  space.also = {"SequenceParallel"};
  const std::vector<Candidate> all = enumerate(space, AotTarget::parse("cpu:8"), 64);
  EXPECT_EQ(all.size(), 10U * 2 * 2 * 2 * 2);
  std::set<std::string> labels;
  for (const Candidate& c : all) labels.insert(to_string(c));
  EXPECT_EQ(labels.size(), all.size());
  EXPECT_TRUE(labels.contains("fsdp=4,model=2 x2, dots, no kernels, SequenceParallel"));
  EXPECT_TRUE(labels.contains("data=8"));
  for (const Candidate& c : all) EXPECT_EQ(c.mesh.num_devices(), 8);
}

TEST_F(SearchSpaceTest, DefaultsByPlatformAndBatch) {
  SearchSpace space;
  space.axes = {"data"};
  space.kernels = {"on"};
  EXPECT_EQ(enumerate(space, AotTarget::parse("cpu:4"), 12).size(), 3U * 4);  // 1, 2, 4, 8 microbatches
  EXPECT_EQ(enumerate(space, AotTarget::parse("h100:4"), 12).size(), 5U * 4);
}

TEST_F(SearchSpaceTest, TensorsAreSplitWhereLinksAreFast) {
  SearchSpace space;
  space.axes = {"fsdp", "model"};
  space.microbatches = {1};
  space.remat = {"as_is"};
  space.kernels = {"on"};
  EXPECT_THAT(meshes(enumerate(space, AotTarget::parse("h100:4x8"), 64)),
              ElementsAre("fsdp=16,model=2", "fsdp=32", "fsdp=4,model=8", "fsdp=8,model=4"));
  EXPECT_THAT(meshes(enumerate(space, AotTarget::parse("v5e:8x8"), 64)), Not(Each(HasSubstr("model=32"))));
}

// Each pipeline with both schedules, and what has none with none.
TEST_F(SearchSpaceTest, Pipelines) {
  SearchSpace space{.axes = {"pipeline", "data"}, .remat = {"as_is"}, .microbatches = {1, 4}, .kernels = {"on"}};
  const auto labels = [&] {
    std::vector<std::string> out;
    for (const Candidate& c : enumerate(space, AotTarget::parse("cpu:2"), 8)) out.push_back(to_string(c));
    return out;
  };
  EXPECT_THAT(labels(), UnorderedElementsAre("data=2", "data=2 x4", "pipeline=2", "pipeline=2, one_f_one_b",
                                             "pipeline=2 x4", "pipeline=2 x4, one_f_one_b"));
  space.schedules = {"one_f_one_b"};
  EXPECT_THAT(labels(),
              UnorderedElementsAre("data=2", "data=2 x4", "pipeline=2, one_f_one_b", "pipeline=2 x4, one_f_one_b"));
}

TEST_F(SearchSpaceTest, WhatARuleSays) {
  Candidate c;
  c.mesh = Mesh{{"fsdp", 4}, {"seq", 2}};
  EXPECT_THAT(modifiers_of(c),
              ElementsAre(R"({type = "SetMesh", mesh = {data = 1, fsdp = 4, seq = 2}})",
                          R"({type = "AccumulateGradients", steps = 1})", R"({type = "ContextParallel"})"));
  c.mesh = Mesh{{"data", 8}};
  c.remat = "dots";
  c.microbatches = 4;
  c.also = {"SequenceParallel", "ScaleDimension{field = \"x\", factor = 2}", "ShardOptimizerOnly{ }"};
  EXPECT_EQ(to_toml(modifiers_of(c)),
            R"([{type = "SetMesh", mesh = {data = 8}}, {type = "AccumulateGradients", steps = 4}, )"
            R"({type = "SetRemat", policy = {type = "SaveDots"}}, {type = "SequenceParallel"}, )"
            R"({type = "ScaleDimension", field = "x", factor = 2}, {type = "ShardOptimizerOnly"}])");
  c = {.mesh = Mesh{{"pipeline", 2}, {"fsdp", 4}}, .microbatches = 8, .schedule = PipelineSchedule::one_f_one_b};
  EXPECT_THAT(modifiers_of(c), ElementsAre(R"({type = "SetMesh", mesh = {pipeline = 2, data = 1, fsdp = 4}})",
                                           R"({type = "PipelineParallel", microbatches = 8, schedule = "one_f_one_b"})",
                                           R"({type = "AccumulateGradients", steps = 1})"));
  c.mesh = Mesh{{"pipeline", 2}, {"seq", 2}};  // pipelines take ordinary attention alone
  EXPECT_THAT(to_toml(modifiers_of(c)), Not(HasSubstr("ContextParallel")));
  c = {};
  c.kernels = false;
  EXPECT_THAT(modifiers_of(c).back(), HasSubstr(R"(path = "kernels.disable", value = ["attention", )"));
}

TEST_F(SearchSpaceTest, BatchesThatDivide) {
  Candidate c;
  c.mesh = Mesh{{"data", 2}, {"fsdp", 2}, {"model", 2}};
  c.microbatches = 3;
  EXPECT_EQ(why_not_divided(c, 12), "");
  EXPECT_EQ(why_not_divided(c, 6), "6 examples don't divide into 3 microbatches over 4 devices");
  EXPECT_NE(why_not_divided(c, 16), "");
}

TEST_F(SearchSpaceTest, Mistakes) {
  const AotTarget target = AotTarget::parse("cpu:8");
  const auto error = [&](const SearchSpace& space, int64_t batch = 8) {
    return error_of([&] { enumerate(space, target, batch); });
  };
  const auto expect = [&](const SearchSpace& space, ErrorCode code, const char* part) {
    const std::optional<Error> e = error(space);
    ASSERT_TRUE(e) << part;
    EXPECT_EQ(e->code(), code) << part;
    EXPECT_THAT(e->what(), HasSubstr(part));
  };
  expect({.axes = {"dta"}}, ErrorCode::unknown_name, "did you mean data");
  expect({.axes = {}}, ErrorCode::invalid_argument, "--axes");
  expect({.schedules = {"1f1b"}}, ErrorCode::unknown_name, "expected gpipe, one_f_one_b");
  expect({.schedules = {}}, ErrorCode::invalid_argument, "--schedules");
  expect({.remat = {"dot"}}, ErrorCode::unknown_name, "did you mean dots");
  expect({.microbatches = {2, 0}}, ErrorCode::invalid_argument, "--microbatches");
  expect({.kernels = {"maybe"}}, ErrorCode::unknown_name, "on, off");
  expect({.also = {"SequencParallel"}}, ErrorCode::unknown_name, "SequenceParallel");
  EXPECT_EQ(error({}, 0)->path(), "--global_batch");
  const std::optional<Error> no_mesh =
      error_of([] { enumerate({.axes = {"model"}}, AotTarget::parse("h100:4x8"), 64); });
  ASSERT_TRUE(no_mesh);
  EXPECT_EQ(no_mesh->code(), ErrorCode::mesh_mismatch);
}

}  // namespace
}  // namespace tenon
