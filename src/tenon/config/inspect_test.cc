#include "tenon/config/inspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenon/config/test_types.h"
#include "tenon/config/test_util.h"

namespace tenon {
namespace {

using namespace zoo;  // NOLINT
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Model::Config model() {
  Model::Config c;
  c.vocab_size = 7;
  GatedFeedForward::Config gated;
  gated.linear.as<Linear>().bias = true;
  c.layers = {gated, Experts::Config{}};
  return c;
}

std::vector<std::string> texts(const std::vector<TextLine>& lines) {
  std::vector<std::string> out;
  for (const TextLine& line : lines) out.push_back(line.path + " = " + line.value);
  return out;
}

TEST(Inspect, OnlyWhatTheDefaultsDontGive) {
  EXPECT_THAT(texts(lines_off_default(model())),
              ElementsAre("layers.0.linear.bias = true", "layers.0.type = \"GatedFeedForward\"",
                          "layers.1.type = \"Experts\"", "vocab_size = 7"));
  EXPECT_TRUE(lines_off_default(Model::Config{}).empty());
  // What a parent puts into a slot is its default, not the class's own.
  Model::Config c = model();
  c.layers[1].as<Experts>().expert = Experts::Config{};
  EXPECT_THAT(texts(lines_off_default(c)), testing::Contains("layers.1.expert.type = \"Experts\""));
  c.width = Doubled{};
  EXPECT_THAT(texts(lines_off_default(c)), testing::Contains("width.type = \"Doubled\""));
}

TEST(Inspect, WhatIsPrintedGivesTheSameTreeAgain) {
  std::string text;
  for (const TextLine& line : lines_off_default(model())) text += line.path + " = " + line.value + "\n";
  Model::Config c;
  apply_toml(c, text, "x.toml", registry());
  EXPECT_TRUE(c == model());
}

TEST(Inspect, Tree) {
  EXPECT_EQ(format_tree(model()),
            "Model\n"
            "  layers.0: GatedFeedForward\n"
            "    linear: Linear\n"
            "  layers.1: Experts\n"
            "    linear: Linear\n"
            "    expert: GatedFeedForward\n"
            "      linear: Linear\n");
}

TEST(Inspect, Find) {
  EXPECT_THAT(texts(find_lines(model(), "vocab")), ElementsAre("vocab_size = 7"));
  EXPECT_THAT(texts(find_lines(model(), "\"Experts")), ElementsAre("layers.1.type = \"Experts\""));
  EXPECT_THAT(texts(find_lines(model(), "layers.*.linear.bias")),
              ElementsAre("layers.0.linear.bias = true", "layers.1.linear.bias = false"));
  EXPECT_TRUE(find_lines(model(), "nothing").empty());
}

TEST(Inspect, Types) {
  const std::string linear = describe_type(registry(), "Linear");
  EXPECT_THAT(linear, AllOf(HasSubstr("Linear: "), HasSubstr("is a Part: "),
                            HasSubstr("  input_dim: integer; required\n"), HasSubstr("  bias: bool; default false\n")));
  EXPECT_THAT(describe_type(registry(), "FeedForward"),
              AllOf(HasSubstr("implementations: Experts, GatedFeedForward\n"), HasSubstr("  input_dim: integer")));
  EXPECT_THAT(describe_type(registry(), "ScaledDim"),
              AllOf(HasSubstr("function int64_t(int64_t)\n"), HasSubstr("of the same signature: Doubled, ScaledDim\n"),
                    HasSubstr("  scale: float; default 4.0\n")));
  EXPECT_THAT(thrown([] { describe_type(registry(), "Liner"); }).what(), HasSubstr("did you mean Linear"));
  EXPECT_THAT(list_types(registry()),
              AllOf(HasSubstr("FeedForward\n  Experts "), HasSubstr("function "), Not(HasSubstr("Configurable:"))));
}

}  // namespace
}  // namespace tenon
