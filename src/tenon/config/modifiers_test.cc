#include "tenon/config/modifiers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenon/config/path_pattern.h"
#include "tenon/config/test_types.h"
#include "tenon/config/test_util.h"
#include "tenon/config/testing.h"
#include "tenon/config/validate.h"

namespace tenon {
namespace {

using namespace zoo;  // NOLINT
using testing::ElementsAre;
using testing::HasSubstr;

class ModifiersTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    register_zoo(Registry::global());
    register_modifiers(Registry::global());
  }
  // Two layers: a gated feed-forward, and experts with one inside.
  ModifiersTest() { model_.layers = {GatedFeedForward::Config{}, Experts::Config{}}; }
  std::string error_of(const Modifier& modifier) {
    const Model::Config before = model_;
    const Error error = thrown([&] { modify(model_, modifier); });
    EXPECT_TRUE(model_ == before) << "a failed modifier changed the tree";
    return error.what();
  }
  Model::Config model_;
};

TEST(PathPattern, Matches) {
  const auto matches = [](const char* pattern, const char* path) {
    return PathPattern(pattern).matches(parse_path(path));
  };
  EXPECT_TRUE(matches("a.b", "a.b"));
  EXPECT_FALSE(matches("a.b", "a.b.c"));
  EXPECT_FALSE(matches("a.b", "a"));
  EXPECT_TRUE(matches("a.*.c", "a.b.c"));
  EXPECT_FALSE(matches("a.*", "a.b.c"));
  EXPECT_TRUE(matches("a.*b*", "a.xbx"));
  EXPECT_FALSE(matches("a.*b", "a.bx"));
  EXPECT_TRUE(matches("**", "a.b.c"));
  EXPECT_TRUE(matches("**.c", "c"));
  EXPECT_TRUE(matches("a.**.c", "a.c"));
  EXPECT_TRUE(matches("a.**.b.**.c", "a.x.b.b.y.c"));
  EXPECT_FALSE(matches("a.**.b.c", "a.b.c.d"));
  EXPECT_TRUE(PathPattern("a.b").covers(parse_path("a.b.c")));
  EXPECT_FALSE(PathPattern("a.b").covers(parse_path("a.c.b")));
  EXPECT_THAT(thrown([] { PathPattern("a..b"); }).what(), HasSubstr("an empty part"));
  // A pattern that would take exponential time by trying.
  std::string pattern = "**", path = "a";
  for (int i = 0; i < 40; ++i) pattern += ".a.**", path += ".a";
  EXPECT_FALSE(matches((pattern + ".b").c_str(), path.c_str()));
}

TEST_F(ModifiersTest, ReplaceKeepsWhatBothHave) {
  model_.layers[0].as<GatedFeedForward>().hidden_dim = 99;
  const ModifierReport report = modify(model_, Replace{.from = "GatedFeedForward", .to = Experts::Config{}});
  EXPECT_TRUE(model_.layers[0].is<Experts>());
  EXPECT_TRUE(model_.layers[1].as<Experts>().expert.is<Experts>());
  EXPECT_EQ(report.modifier, "Replace");
  EXPECT_THAT(to_string(report), HasSubstr("  layers.0.type: \"GatedFeedForward\" -> \"Experts\"\n"));
  EXPECT_THAT(to_string(report), HasSubstr("  layers.0.num_experts: (none) -> 8\n"));
}

TEST_F(ModifiersTest, ReplaceOnlyWithin) {
  modify(model_, Replace{.from = "GatedFeedForward", .to = Experts::Config{}, .within = "layers.1"});
  EXPECT_TRUE(model_.layers[0].is<GatedFeedForward>());
  EXPECT_TRUE(model_.layers[1].as<Experts>().expert.is<Experts>());
}

TEST_F(ModifiersTest, WrapPutsTheOldIntoTheNew) {
  model_.layers[0].as<GatedFeedForward>().hidden_dim = 99;
  model_.layers[0]->input_dim = 7;
  Experts::Config outer;
  outer.num_experts = 3;
  modify(model_, Wrap{.from = "GatedFeedForward", .to = outer, .slot = "expert"});
  const auto& first = model_.layers[0].as<Experts>();
  EXPECT_EQ(first.num_experts, 3);
  EXPECT_TRUE(first.input_dim == 7);
  EXPECT_EQ(first.expert.as<GatedFeedForward>().hidden_dim(0), 99);
  EXPECT_EQ(first.hidden_dim(0), 128) << "only what the interface names moves out";
  // The experts' own feed-forward, which was wrapped in turn.
  EXPECT_TRUE(model_.layers[1].as<Experts>().expert.as<Experts>().expert.is<GatedFeedForward>());
}

TEST_F(ModifiersTest, SetFieldByPattern) {
  const ModifierReport report = modify(model_, SetField{.path = "layers.**.bias", .value = true});
  std::vector<std::string> paths;
  for (const Difference& change : report.changes) paths.push_back(change.path);
  EXPECT_THAT(paths, ElementsAre("layers.0.linear.bias", "layers.1.expert.linear.bias", "layers.1.linear.bias"));
  EXPECT_EQ(to_string(modify(model_, SetField{.path = "layers.**.bias", .value = true})),
            "SetField: all was so already\n");
  modify(model_, SetField{.path = "width", .value = Value(Value::Table{{"type", "Doubled"}})});
  EXPECT_EQ(model_.width(4), 8);
}

TEST_F(ModifiersTest, ScaleDimension) {
  model_.layers[0]->input_dim = 6;
  model_.max_len = 10;
  modify(model_, ScaleDimension{.field = "input_dim", .factor = 1.5});
  EXPECT_TRUE(model_.layers[0]->input_dim == 9);
  EXPECT_FALSE(model_.layers[1]->input_dim.is_set()) << "what a parent fills in stays unset";
  modify(model_, ScaleDimension{.field = "hidden_dim", .factor = 2});
  EXPECT_EQ(model_.layers[1].as<Experts>().hidden_dim(0), 256);  // a constant function
  modify(model_, ScaleDimension{.field = "max_len", .factor = 3});
  EXPECT_EQ(model_.max_len, 30);
  EXPECT_THAT(error_of(ScaleDimension{.field = "input_dim", .factor = 0.5}),
              HasSubstr("at layers.0.input_dim: the scaled dimension isn't whole (got 0.5 * 9)"));
  EXPECT_THAT(error_of(ScaleDimension{.field = "input_dims"}), HasSubstr("is called input_dims"));
  EXPECT_THAT(error_of(ScaleDimension{.field = "name"}), HasSubstr("no integer field"));
}

TEST_F(ModifiersTest, ChainIsOneAfterTheOther) {
  modify(model_, Chain{{Replace{.from = "FeedForward", .to = Experts::Config{}, .within = "layers.0"},
                        SetField{.path = "layers.0.num_experts", .value = 5}}});
  EXPECT_EQ(model_.layers[0].as<Experts>().num_experts, 5);
  EXPECT_THAT(error_of(Chain{{SetField{.path = "name", .value = "x"}, SetField{.path = "nam", .value = "y"}}}),
              HasSubstr("did you mean name?; it was the modifier SetField; it was the modifier Chain"));
}

TEST_F(ModifiersTest, NoMatchIsAnError) {
  const Linear::Config linear;
  EXPECT_EQ(error_of(Replace{.from = "Model", .to = linear}),
            "invalid_argument: nothing to replace: the tree has no Model. Hint: it was the modifier Replace");
  EXPECT_THAT(error_of(Replace{.from = "FeedForwards", .to = linear}), HasSubstr("did you mean FeedForward or "));
  EXPECT_THAT(error_of(Replace{.from = "Liner", .to = linear}), HasSubstr("did you mean Linear?"));
  EXPECT_THAT(error_of(Replace{.from = "Linear", .to = linear, .within = "sources"}), HasSubstr("nothing to replace"));
  EXPECT_THAT(error_of(Replace{.from = "Linear", .to = Experts::Config{}}),
              HasSubstr("wrong_type at layers.0.linear: the replacement doesn't fit the slot"));
  EXPECT_THAT(error_of(Wrap{.from = "Linear", .to = linear, .slot = "bias"}),
              HasSubstr("Linear.bias is no slot (got bool)"));
  EXPECT_THAT(error_of(Wrap{.from = "Linear", .to = linear, .slot = "inner"}), HasSubstr("no field inner"));
  EXPECT_THAT(error_of(Wrap{.from = "FeedForward", .to = Experts::Config{}, .slot = "linear"}),
              HasSubstr("what is wrapped doesn't fit the slot (got GatedFeedForward, expected a Linear)"));
  EXPECT_THAT(error_of(SetField{.path = "**.bais", .value = true}), HasSubstr("did you mean bias"));
  EXPECT_THAT(error_of(SetField{.path = "**.bias", .value = 3}), HasSubstr("wrong_type at layers.0.linear.bias"));
  EXPECT_THAT(error_of(SetField{.path = "dropout", .value = 2.0}), HasSubstr("dropout"));  // a check
  EXPECT_EQ(error_of(SetField{.value = 2.0}), "missing_field: SetField needs path");
  EXPECT_EQ(error_of(SetField{.path = "sources"}), "missing_field: SetField needs value");
  EXPECT_EQ(error_of(Wrap{.from = "Linear"}), "missing_field: Wrap needs to and slot");
  EXPECT_THAT(error_of(Modifier()), HasSubstr("an empty modifier"));
}

TEST_F(ModifiersTest, NoFieldIsForgotten) {
  expect_all_fields_listed<Replace>();
  expect_all_fields_listed<Wrap>();
  expect_all_fields_listed<SetField>();
  expect_all_fields_listed<ScaleDimension>();
  expect_all_fields_listed<Chain>();
}

}  // namespace
}  // namespace tenon
