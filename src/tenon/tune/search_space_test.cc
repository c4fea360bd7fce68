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
  space.accumulation = {1, 2};
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
  space.accumulation = {1};
  space.remat = {"as_is"};
  space.kernels = {"on"};
  EXPECT_THAT(meshes(enumerate(space, AotTarget::parse("h100:4x8"), 64)),
              ElementsAre("fsdp=16,model=2", "fsdp=32", "fsdp=4,model=8", "fsdp=8,model=4"));
  EXPECT_THAT(meshes(enumerate(space, AotTarget::parse("v5e:8x8"), 64)), Not(Each(HasSubstr("model=32"))));
}

TEST_F(SearchSpaceTest, WhatARuleSays) {
  Candidate c;
  c.mesh = Mesh{{"fsdp", 4}, {"seq", 2}};
  EXPECT_THAT(modifiers_of(c),
              ElementsAre(R"({type = "SetMesh", mesh = {data = 1, fsdp = 4, seq = 2}})",
                          R"({type = "ContextParallel"})", R"({type = "AccumulateGradients", steps = 1})"));
  c.mesh = Mesh{{"data", 8}};
  c.remat = "dots";
  c.accumulation = 4;
  c.also = {"SequenceParallel", "ScaleDimension{field = \"x\", factor = 2}", "ShardOptimizerOnly{ }"};
  EXPECT_EQ(to_toml(modifiers_of(c)),
            R"([{type = "SetMesh", mesh = {data = 8}}, {type = "SetRemat", policy = {type = "SaveDots"}}, )"
            R"({type = "AccumulateGradients", steps = 4}, {type = "SequenceParallel"}, )"
            R"({type = "ScaleDimension", field = "x", factor = 2}, {type = "ShardOptimizerOnly"}])");
  c = {};
  c.kernels = false;
  EXPECT_THAT(modifiers_of(c).back(), HasSubstr(R"(path = "kernels.disable", value = ["attention", )"));
}

TEST_F(SearchSpaceTest, BatchesThatDivide) {
  Candidate c;
  c.mesh = Mesh{{"data", 2}, {"fsdp", 2}, {"model", 2}};
  c.accumulation = 3;
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
  expect({.axes = {"pipeline"}}, ErrorCode::unsupported, "--axes");
  expect({.remat = {"dot"}}, ErrorCode::unknown_name, "did you mean dots");
  expect({.accumulation = {2, 0}}, ErrorCode::invalid_argument, "--accumulation");
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
