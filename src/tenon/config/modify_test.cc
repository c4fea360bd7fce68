#include "tenon/config/modify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenon/config/test_types.h"
#include "tenon/config/test_util.h"

namespace tenon {
namespace {

using namespace zoo;  // NOLINT
using testing::HasSubstr;

Model::Config three_layers() {
  Model::Config c;
  GatedFeedForward::Config gated;
  gated.input_dim = 64;
  gated.compute_dtype = DType::bf16;
  gated.hidden_dim = 99;
  gated.linear.as<Linear>().bias = true;
  c.layers = {gated, Experts::Config{}, gated};
  return c;
}

TEST(Replace, KeepsTheInterfaceAndWhatIsStillDefault) {
  Model::Config c = three_layers();
  Experts::Config to;
  to.hidden_dim = 5;
  EXPECT_EQ(replace<GatedFeedForward>(c, to), 3);  // the expert of the second layer too
  const auto& experts = c.layers[0].as<Experts>();
  EXPECT_TRUE(experts.input_dim == 64);
  EXPECT_EQ(experts.compute_dtype, DType::bf16);
  EXPECT_EQ(experts.hidden_dim(0), 5);            // set in `to`
  EXPECT_TRUE(experts.linear.as<Linear>().bias);  // default in `to`: the old one
  EXPECT_EQ(experts.num_experts, 8);
  // `to` itself holds a GatedFeedForward: it isn't looked into.
  EXPECT_TRUE(experts.expert.is<GatedFeedForward>());
  EXPECT_TRUE(c.layers[1].as<Experts>().expert.is<Experts>());
}

TEST(Replace, MatchesAnInterface) {
  Model::Config c = three_layers();
  EXPECT_EQ(replace<FeedForward>(c, GatedFeedForward::Config{}), 4);
  for (const auto& layer : c.layers) EXPECT_TRUE(layer.is<GatedFeedForward>());
  EXPECT_EQ(c.layers[0].as<GatedFeedForward>().hidden_dim(0), 99);
}

TEST(Replace, AnUnsetFieldDoesNotOverwrite) {
  Model::Config c;
  c.layers = {GatedFeedForward::Config{}};
  GatedFeedForward::Config to;
  to.input_dim = 7;
  to.compute_dtype = DType::f16;
  replace<FeedForward>(c, to);
  EXPECT_TRUE(c.layers[0]->input_dim == 7);
  EXPECT_EQ(c.layers[0]->compute_dtype, DType::f16);
}

TEST(Replace, ByTheSameClassTakesWhatToSets) {
  Model::Config c = three_layers();
  Linear::Config to;
  to.weight_partition = {};
  replace<Linear>(c, to);
  const auto& linear = c.layers[0].as<GatedFeedForward>().linear.as<Linear>();
  EXPECT_EQ(linear.weight_partition, PartitionSpec());
  EXPECT_TRUE(linear.bias);  // still default in `to`
}

TEST(Replace, ComplainsWhenNothingMatchesOrItDoesNotFit) {
  Model::Config c;
  EXPECT_STREQ(thrown([&] { replace<FeedForward>(c, GatedFeedForward::Config{}); }).what(),
               "invalid_argument: nothing to replace: the tree has no FeedForward");
  EXPECT_EQ(replace<FeedForward>(c, GatedFeedForward::Config{}, NoMatch::is_allowed), 0);
  c = three_layers();
  const Error error = thrown([&] { replace<Linear>(c, GatedFeedForward::Config{}); });
  EXPECT_STREQ(
      error.what(),
      "wrong_type at layers.0.linear: the replacement doesn't fit the slot (got GatedFeedForward, expected a Linear)");
}

}  // namespace
}  // namespace tenon
