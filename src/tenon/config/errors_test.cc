// What users get wrong in files and assignments, and what they are told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "tenon/config/access.h"
#include "tenon/config/test_types.h"
#include "tenon/config/test_util.h"
#include "tenon/config/text.h"
#include "tenon/config/toml.h"

namespace tenon {
namespace {

using namespace zoo;  // NOLINT
using testing::HasSubstr;
using testing::StartsWith;

Model::Config two_layers() {
  Model::Config c;
  c.layers = {GatedFeedForward::Config{}, Experts::Config{}};
  return c;
}

std::string error_of(std::string_view toml) {
  Model::Config c = two_layers();
  const Error error = thrown([&] { apply_toml(c, toml, "x.toml", registry()); });
  EXPECT_TRUE(c == two_layers()) << "a failed overlay changed the tree";
  return error.what();
}

std::string set_error(std::string assignment) {
  Model::Config c = two_layers();
  const Error error = thrown([&] { apply_set(c, assignment, registry()); });
  EXPECT_TRUE(c == two_layers()) << "a failed assignment changed the tree";
  return error.what();
}

TEST(Errors, UnknownNames) {
  EXPECT_EQ(error_of("\nvocabsize = 3"),
            "unknown_name: x.toml:2: Model has no field vocabsize. Hint: did you mean vocab_size?");
  EXPECT_EQ(set_error("layers.0.hiden_dim=3"),
            "unknown_name at layers.0: GatedFeedForward has no field hiden_dim. Hint: did you mean hidden_dim?");
  EXPECT_EQ(set_error("mesh.zzzzzz=3"),
            "unknown_name at mesh: this struct has no field zzzzzz. Hint: its fields are fsdp, model");
  EXPECT_EQ(
      set_error("layers.0.type=GatedFeedForwards"),
      "unknown_name at layers.0.type: no type is called GatedFeedForwards (expected one of Experts, GatedFeedForward)"
      ". Hint: did you mean GatedFeedForward?");
  EXPECT_THAT(set_error("width.type=Scaled"), HasSubstr("expected one of Doubled, ScaledDim"));
  EXPECT_STREQ(thrown([] { (void)from_toml("type = 'Modle'", "y.toml", registry()); }).what(),
               "unknown_name at type: y.toml:1: no type is called Modle. Hint: did you mean Model?");
}

TEST(Errors, WrongTypes) {
  EXPECT_EQ(error_of("name = 'a'\nvocab_size = 'big'"),
            "wrong_type at vocab_size: x.toml:2: a value of the wrong type (got \"big\" (string), expected integer)");
  EXPECT_EQ(set_error("vocab_size=1.5"),
            "wrong_type at vocab_size: a value of the wrong type (got 1.5 (float), expected integer)");
  EXPECT_EQ(set_error("layers.1.linear.bias=1"),
            "wrong_type at layers.1.linear.bias: a value of the wrong type (got 1 (integer), expected bool)");
  EXPECT_THAT(set_error("dropout=high"), HasSubstr("got \"high\" (string), expected float"));
  EXPECT_THAT(set_error("dropout=9007199254740993"), HasSubstr("expected float"));  // not exact as a double
  EXPECT_THAT(error_of("name = 3"), HasSubstr("expected string"));
  EXPECT_THAT(set_error("block=3"), HasSubstr("expected list of integer"));
  EXPECT_THAT(set_error("block={}"), HasSubstr("expected list of integer"));
  EXPECT_THAT(set_error("block=[1, 'a']"), HasSubstr("at block.1"));
  EXPECT_THAT(set_error("mesh=3"), HasSubstr("expected a table"));
  EXPECT_THAT(set_error("rates=3"), HasSubstr("expected map of float"));
  EXPECT_THAT(set_error("layers.0=Experts"), HasSubstr("expected the config of a FeedForward"));
  EXPECT_THAT(set_error("layers.0.type=3"), HasSubstr("a type is named by a string"));
  EXPECT_THAT(set_error("width=wide"), HasSubstr("expected integer"));
  EXPECT_THAT(set_error("max_len=x"), HasSubstr("expected integer"));
  EXPECT_THAT(error_of("max_len = 1979-05-27"), HasSubstr("x.toml:1: dates and times"));
}

TEST(Errors, ValuesThatAreNotAllowed) {
  EXPECT_EQ(set_error("form=scann"),
            "invalid_argument at form: no such value (got \"scann\", expected one of scan, unroll). Hint: did you mean "
            "scan?");
  EXPECT_THAT(error_of("dtype = 'f31'"), HasSubstr("x.toml:1: no such dtype (got \"f31\", expected dtype: one of i1"));
  EXPECT_THAT(set_error("layers.1.linear.weight_partition=a,,b"), HasSubstr("at layers.1.linear.weight_partition"));
  EXPECT_EQ(set_error("layers.7.type=Experts"),
            "invalid_argument at layers: a list index out of range (got 7, expected at most 2, which appends)");
  EXPECT_THAT(set_error("layers.first.type=Experts"), HasSubstr("elements are numbered"));
  EXPECT_THAT(set_error("layers.00.type=Experts"), HasSubstr("elements are numbered"));
  EXPECT_THAT(set_error("layers.99999999999999999999.type=Experts"), HasSubstr("elements are numbered"));
}

TEST(Errors, TypesThatDoNotFit) {
  EXPECT_EQ(
      error_of("[layers.0]\ntype = \"Linear\""),
      "wrong_type at layers.0.type: x.toml:2: Linear is no FeedForward that can be built (got \"Linear\" (string), "
      "expected one of Experts, GatedFeedForward)");
  EXPECT_THAT(set_error("layers.0.type=FeedForward"), HasSubstr("FeedForward is no FeedForward that can be built"));
  EXPECT_THAT(set_error("width.type=Warmup"), HasSubstr("Warmup is a double(int64_t), another signature"));
  EXPECT_THAT(set_error("type=Linear"), HasSubstr("the root of a tree can't be replaced"));
  EXPECT_THAT(set_error("layers.2.num_experts=3"), HasSubstr("expected a .type: one of Experts, GatedFeedForward"));
  EXPECT_THAT(set_error("width.scale=3"), HasSubstr("expected a .type: one of Doubled, ScaledDim"));
  EXPECT_THAT(thrown([] { (void)from_toml_as<FeedForward>("type = 'Linear'", "", registry()); }).what(),
              HasSubstr("got Linear, expected a FeedForward"));
  EXPECT_THAT(thrown([] { (void)from_toml("a = 1", "y.toml", registry()); }).what(), HasSubstr("at type"));
}

TEST(Errors, Assignments) {
  EXPECT_THAT(set_error("dropout"), HasSubstr("an assignment is path=value"));
  EXPECT_THAT(set_error("=3"), HasSubstr("an assignment is path=value"));
  EXPECT_THAT(set_error("a..b=3"), HasSubstr("in the path \"a..b\""));
  EXPECT_THAT(set_error("rates.\"a=3"), HasSubstr("a quote that isn't closed"));
  // A value can't smuggle in a second line.
  EXPECT_THAT(set_error("dropout=1\nname='x'"), HasSubstr("expected float"));
}

TEST(Errors, TextThatIsNotToml) {
  EXPECT_THAT(error_of("name = 'a'\nname = 'b'"), StartsWith("invalid_argument at x.toml:2"));
  EXPECT_THAT(error_of("mesh.two_layers = 1\n[mesh]\nmodel = 2"), StartsWith("invalid_argument at x.toml:"));
  EXPECT_THAT(error_of("\n\nname = "), StartsWith("invalid_argument at x.toml:3"));
  EXPECT_THAT(error_of("name = \"abc"), StartsWith("invalid_argument at x.toml:1"));
  EXPECT_THAT(error_of("\nvocab_size = 9223372036854775808"), HasSubstr("x.toml:2: an integer out of range"));
  EXPECT_THAT(error_of("vocab_size = -99_999_999_999_999_999_999"), HasSubstr("x.toml:1: an integer out of range"));
  EXPECT_THAT(error_of("vocab_size = 0xfffffffffffffffff"), HasSubstr("x.toml:1: an integer out of range"));
  EXPECT_THAT(error_of("dropout = 1e999"), HasSubstr("x.toml:1: a float out of range"));
  EXPECT_THAT(error_of("x = " + std::string(100000, '[')), HasSubstr("x.toml:1: values are nested too deep"));
  EXPECT_THAT(error_of("x = 1\n\ny = [" + std::string(20000, '1') + "]"), HasSubstr("x.toml:3: a line is too long"));
  std::string dotted = "a";
  for (int i = 0; i < 100000; ++i) dotted += ".a";
  EXPECT_THAT(error_of(dotted + " = 1"), HasSubstr("nested too deep"));
}

TEST(Errors, TextIsUtf8) {
  for (const char* text : {"'a\"q\xe4\" n'", "\"\xff\"", "'''\n\x80'''", "1 # \xc3"}) {
    EXPECT_THAT(error_of("\nname = " + std::string(text)), StartsWith("invalid_argument at x.toml:")) << text;
    EXPECT_THAT(error_of("\nname = " + std::string(text)), HasSubstr("the text isn't valid UTF-8")) << text;
  }
  EXPECT_THAT(set_error("name=bare \x8c\xa3"), HasSubstr("isn't valid UTF-8"));
  EXPECT_THAT(set_error("rates.\"\xff\"=1"), HasSubstr("isn't valid UTF-8"));
  Model::Config c = two_layers();
  apply_set(c, "name=na\u00efve", registry());
  EXPECT_EQ(c.name, "na\u00efve");
}

TEST(Errors, StringsDontHideNesting) {
  const std::string deep(1000, '[');
  const std::vector<std::string> fronts = {
      R"("'")",      R"("\"")",      R"('\')",      R"('"')",   R"("")",       R"(""" """)",
      R"("""a"""")", R"("""a""""")", "'''\n'\n'''", "'''a''''", R"("""\"""")", "\n# \"\n1",
  };
  for (const std::string& front : fronts) {
    EXPECT_THAT(error_of("x = [" + front + ", " + deep), HasSubstr("nested too deep")) << front;
  }
  // Dots and brackets add up.
  std::string both, dots = "a";
  for (int i = 0; i < 40; ++i) dots += ".a";
  for (int i = 0; i < 40; ++i) both += "[\n{" + dots + " = ";
  EXPECT_THAT(error_of("x = " + both), HasSubstr("x.toml:4: values are nested too deep"));
  Model::Config c = two_layers();
  apply_toml(c, "name = '''" + deep + "''' # " + deep + "\nsources = [" + std::string(300, '\n') + "]", "", registry());
  EXPECT_EQ(c.name, deep);
}

TEST(Errors, NumbersAtTheirLimitsAreFine) {
  Model::Config c;
  apply_toml(c, "vocab_size = 9_223_372_036_854_775_807\nmax_len = -9223372036854775808", "", registry());
  EXPECT_TRUE(c.vocab_size == std::numeric_limits<int64_t>::max());
  EXPECT_EQ(c.max_len, std::numeric_limits<int64_t>::min());
  apply_toml(c, "rates = {a = 1.7976931348623157e308, b = -inf}", "", registry());
  EXPECT_EQ(c.rates.at("a"), std::numeric_limits<double>::max());
  EXPECT_EQ(c.rates.at("b"), -std::numeric_limits<double>::infinity());
}

TEST(Errors, ReadingByPath) {
  Model::Config c = two_layers();
  EXPECT_STREQ(thrown([&] { (void)get(c, "layers.2.type"); }).what(),
               "invalid_argument at layers: no such list element (got 2, expected an index from 0 to 1)");
  EXPECT_THAT(thrown([&] { (void)get(c, "layers.1.experts"); }).what(), HasSubstr("did you mean expert or"));
  EXPECT_THAT(thrown([&] { (void)get(c, "eval_mesh.fsdp"); }).what(), HasSubstr("nothing is set here"));
  EXPECT_THAT(thrown([&] { (void)get(c, "name.x"); }).what(), HasSubstr("there is no x inside"));
  EXPECT_THAT(thrown([&] { (void)get(c, "rates.x"); }).what(), HasSubstr("the map has no \"x\""));
  EXPECT_EQ(thrown([&] { (void)get_as<int64_t>(c, "vocab_size"); }).code(), ErrorCode::missing_field);
}

// Mangled text either loads or throws an Error; it never crashes, and never throws anything else.
TEST(Errors, MangledTextNeverCrashes) {
  Model::Config full = two_layers();
  full.vocab_size = 3;
  full.width = ScaledDim{};
  const std::string text = to_toml(full);
  const std::string bytes = "\"'[]{}=.,#\\\n\r\t-_0129eax\0\xff ";
  std::mt19937 random(1);
  int loaded = 0;
  for (int i = 0; i < 500; ++i) {
    std::string mangled = text;
    for (unsigned edits = random() % 4 + 1; edits > 0; --edits) {
      const size_t at = random() % mangled.size();
      if (random() % 3 == 0) {
        mangled.erase(at, random() % 20);
        if (mangled.empty()) mangled = "=";
      } else {
        mangled.insert(at, 1, bytes[random() % bytes.size()]);
      }
    }
    try {
      (void)from_toml(mangled, "", registry());
      ++loaded;
    } catch (const Error&) {
    }
  }
  EXPECT_GT(loaded, 0);
  EXPECT_LT(loaded, 500);
}

}  // namespace
}  // namespace tenon
