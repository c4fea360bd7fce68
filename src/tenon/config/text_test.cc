// Trees as text: writing, loading, overlaying, setting, comparing.
#include "tenon/config/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tenon/config/access.h"
#include "tenon/config/test_types.h"
#include "tenon/config/test_util.h"
#include "tenon/config/toml.h"

namespace tenon {
namespace {

using namespace zoo;  // NOLINT
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Model::Config full_model() {
  Model::Config c;
  c.vocab_size = 259;
  c.name = "a \"quoted\"\tname\\ \x01 é";
  c.dropout = 0.1;
  c.form = Form::unroll;
  c.dtype = DType::bf16;
  c.mesh = {.fsdp = -1, .model = 2};
  c.max_len = 4096;
  c.eval_mesh = MeshShape{.fsdp = 4};
  c.head = Slot<Linear>(Linear::Config{});
  (*c.head)->weight_partition = {{"data", "fsdp"}, {}};
  c.block = {7};
  c.sources.resize(11);
  c.sources[0].path = "books";
  c.sources[10].weight = 1e-7;
  c.rates = {{"attention", 1}, {"a.b c", 2.5}};
  c.layers = {GatedFeedForward::Config{}, Experts::Config{}};
  c.layers[0]->input_dim = 64;
  c.schedule = Warmup{.steps = 10};
  c.width = ScaledDim{};
  return c;
}

TEST(Text, IsSortedLines) {
  GatedFeedForward::Config c;
  c.input_dim = 64;
  EXPECT_EQ(to_toml(c),
            "compute_dtype = {}\n"
            "hidden_dim.round_up_to = 256\n"
            "hidden_dim.scale = 2.6666666666666665\n"
            "hidden_dim.type = \"ScaledDim\"\n"
            "input_dim = 64\n"
            "linear.bias = false\n"
            "linear.compute_dtype = {}\n"
            "linear.type = \"Linear\"\n"
            "linear.weight_partition = \"fsdp,model\"\n"
            "type = \"GatedFeedForward\"\n");
}

TEST(Text, ListsAreNumberedInOrder) {
  std::vector<std::string> weights;
  for (const TextLine& line : flatten(full_model())) {
    if (line.path.find(".weight") != std::string::npos && line.path[0] == 's') weights.push_back(line.path);
  }
  ASSERT_EQ(weights.size(), 11U);
  EXPECT_EQ(weights[2], "sources.2.weight");
  EXPECT_EQ(weights[10], "sources.10.weight");
  EXPECT_THAT(to_toml(full_model()), HasSubstr("rates.\"a.b c\" = 2.5\nrates.attention = 1.0\n"));
}

TEST(Text, LoadsBackToTheSameTree) {
  for (const Model::Config& c : {Model::Config{}, full_model()}) {
    const std::string text = to_toml(c);
    const auto loaded = from_toml(text, "", registry());
    EXPECT_TRUE(*loaded == c);
    EXPECT_EQ(to_toml(*loaded), text);
  }
}

TEST(Text, FloatsRoundTrip) {
  Model::Config c;
  for (const double value : {0.1, 1.0 / 3, 1e300, -2.5e-310, std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN(), 1e16, -0.0}) {
    c.rates["x"] = value;
    EXPECT_TRUE(*from_toml(to_toml(c), "", registry()) == c) << value;
  }
}

TEST(Text, LoadingForgetsTheDefaultsOfWhatTheTextNames) {
  // By default: block = [128, 256]; a whole text with one element has one.
  const auto loaded = from_toml("type = \"Model\"\nblock.0 = 5", "", registry());
  EXPECT_EQ(static_cast<const Model::Config&>(*loaded).block, Dims{5});
  EXPECT_EQ(static_cast<const Model::Config&>(*loaded).name, "model");
}

TEST(Overlay, ChangesWhatItNames) {
  Model::Config c = full_model();
  apply_toml(c, R"(
    max_len = {}
    block = [1, 2, 3]
    [mesh]
    model = 8
    [layers.1]
    num_experts = 4
    [layers.2]
    type = "GatedFeedForward"
  )",
             "over.toml", registry());
  EXPECT_FALSE(c.max_len.has_value());
  EXPECT_EQ(c.block, (Dims{1, 2, 3}));
  EXPECT_EQ(c.mesh.model, 8);
  EXPECT_EQ(c.mesh.fsdp, -1);
  EXPECT_EQ(c.layers[1].as<Experts>().num_experts, 4);
  EXPECT_TRUE(c.layers[2].is<GatedFeedForward>());
  EXPECT_TRUE(c.layers[0]->input_dim == 64);
}

TEST(Overlay, TypeReplacesAndKeepsWhatBothHave) {
  Model::Config c = full_model();
  c.layers[0].as<GatedFeedForward>().hidden_dim = 99;
  apply_toml(c, "layers.0.num_experts = 2\nlayers.0.type = \"Experts\"", "", registry());
  EXPECT_TRUE(c.layers[0]->input_dim == 64);
  EXPECT_EQ(c.layers[0].as<Experts>().hidden_dim(0), 99);
  EXPECT_EQ(c.layers[0].as<Experts>().num_experts, 2);
  const Model::Config before = c;
  apply_set(c, "layers.0.type=Experts", registry());  // what it is already
  EXPECT_TRUE(c == before);
}

TEST(Set, TakesTomlAndBareText) {
  Model::Config c;
  apply_set(
      c,
      {"vocab_size=300", "name=3", "dropout=1", "form=unroll", "dtype=f16", "rates.\"x.y\"=2", "eval_mesh.model=2",
       "sources.0.path=a b", "sources.1.path=\"c\"", "schedule.type=Warmup", "schedule.steps=5", "width.type=ScaledDim",
       "width.scale=3", "head={type=\"Linear\", bias=true}", "block=[4]"},
      registry());
  EXPECT_EQ(get(c, "vocab_size").text(), "300");
  EXPECT_EQ(c.name, "3");
  EXPECT_EQ(c.dropout, 1);
  EXPECT_EQ(c.form, Form::unroll);
  EXPECT_EQ(c.dtype, DType::f16);
  EXPECT_EQ(c.rates.at("x.y"), 2);
  EXPECT_EQ(c.eval_mesh->model, 2);
  ASSERT_EQ(c.sources.size(), 2U);
  EXPECT_TRUE(c.sources[0].path == "a b");
  EXPECT_TRUE(c.sources[1].path == "c");
  EXPECT_EQ(c.schedule(1), 0.2);
  EXPECT_EQ(c.width(5), 15);
  EXPECT_TRUE(c.head->as<Linear>().bias);
  EXPECT_EQ(c.block, Dims{4});
  apply_set(c, {"width=12", "schedule={}", "head={}", "rates={}", "sources=[]"}, registry());
  EXPECT_EQ(c.width(5), 12);
  EXPECT_FALSE(c.schedule || c.head || !c.rates.empty() || !c.sources.empty());
}

TEST(Access, GetsAndSetsByPath) {
  Model::Config c = full_model();
  EXPECT_EQ(get(c, "layers.1.expert.linear.bias").text(), "false");
  EXPECT_EQ(get(c, "layers.1.expert.type").text(), "\"GatedFeedForward\"");
  EXPECT_EQ(get(c, "type").text(), "\"Model\"");
  EXPECT_EQ(get(c, "schedule").text(), "{type = \"Warmup\", steps = 10}");
  EXPECT_EQ(get(c, "block").text(), "[7]");
  EXPECT_EQ(get_as<PartitionSpec>(c, "layers.1.linear.weight_partition"), PartitionSpec({"fsdp", "model"}));
  EXPECT_EQ(get_as<int64_t>(c, "vocab_size"), 259);  // through Required
  get_as<int64_t>(c, "max_len") = 3;                 // through optional
  EXPECT_EQ(c.max_len, 3);
  EXPECT_EQ(thrown([&] { (void)get_as<double>(c, "max_len"); }).code(), ErrorCode::wrong_type);
  set(c, "layers.1.expert.linear.bias", true, registry());
  EXPECT_TRUE(c.layers[1].as<Experts>().expert.as<GatedFeedForward>().linear.as<Linear>().bias);
}

TEST(Set, IsChecked) {
  Model::Config c;
  const Error error = thrown([&] { apply_set(c, {"dropout=2", "mesh.model=0", "mesh.fsdp=-2"}, registry()); });
  EXPECT_STREQ(error.what(),
               "invalid_argument: 3 problems: dropout must be at most 1, is 2.0; mesh.fsdp must be at least -1, is -2; "
               "mesh.model must be positive, is 0");
  EXPECT_TRUE(c == Model::Config{});
}

TEST(Diff, TellsLines) {
  Model::Config a = full_model();
  EXPECT_THAT(diff(a, a), IsEmpty());
  Model::Config b = a;
  b.layers[1].as<Experts>().num_experts = 3;
  b.max_len.reset();
  b.vocab_size.reset();
  b.block.push_back(8);
  EXPECT_THAT(diff(a, b),
              ElementsAre(Difference{"block.1", std::nullopt, "8"}, Difference{"layers.1.num_experts", "8", "3"},
                          Difference{"max_len", "4096", "{}"}, Difference{"vocab_size", "259", std::nullopt}));
}

}  // namespace
}  // namespace tenon
