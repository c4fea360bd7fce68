// Declaring, filling, copying, comparing and building configs.
#include "tenon/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenon/base/error.h"
#include "tenon/config/config_type.h"
#include "tenon/config/test_types.h"
#include "tenon/config/test_util.h"

namespace tenon {
namespace {

using namespace zoo;  // NOLINT
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Required, ThrowsUntilSet) {
  Linear::Config c;
  EXPECT_FALSE(c.input_dim.is_set());
  EXPECT_EQ(thrown([&] { (void)c.input_dim.value(); }).code(), ErrorCode::missing_field);
  c.input_dim = 5;
  EXPECT_TRUE(c.input_dim == 5);
  EXPECT_TRUE(6 != c.input_dim);
  const int64_t doubled = c.input_dim * 2;
  EXPECT_EQ(doubled, 10);
  Linear::Config copy = c;
  EXPECT_TRUE(copy.input_dim == c.input_dim);
  EXPECT_TRUE(copy.output_dim == c.output_dim);  // both unset
  copy.input_dim.reset();
  EXPECT_FALSE(copy.input_dim == c.input_dim);
}

TEST(Slot, CopiesDeeplyAndReplaces) {
  GatedFeedForward::Config gated;
  Slot<FeedForward> slot = gated;
  slot->input_dim = 3;
  slot.as<GatedFeedForward>().linear.as<Linear>().bias = true;
  Slot<FeedForward> copy = slot;
  EXPECT_TRUE(copy == slot);
  copy.as<GatedFeedForward>().linear.as<Linear>().bias = false;
  EXPECT_FALSE(copy == slot);
  EXPECT_TRUE(slot.as<GatedFeedForward>().linear.as<Linear>().bias);
  EXPECT_FALSE(gated.linear.as<Linear>().bias);
  slot = Experts::Config{};
  EXPECT_TRUE(slot.is<Experts>());
  EXPECT_FALSE(slot->input_dim.is_set());
  const Error error = thrown([&] { (void)slot.as<GatedFeedForward>(); });
  EXPECT_EQ(error.code(), ErrorCode::wrong_type);
  EXPECT_THAT(error.what(), HasSubstr("got Experts, expected a GatedFeedForward"));
}

TEST(Slot, RefusesAnotherInterfaceAtRunTime) {
  const Linear::Config linear;
  EXPECT_EQ(thrown([&] { (void)Slot<FeedForward>::from(linear); }).code(), ErrorCode::wrong_type);
  EXPECT_TRUE(Slot<Part>::from(linear).is<Linear>());
  Slot<Linear> empty;
  EXPECT_EQ(thrown([&] { empty->bias = true; }).code(), ErrorCode::missing_field);
}

TEST(Fn, CallsComparesAndCopies) {
  Fn<int64_t(int64_t)> f = ScaledDim{.scale = 8.0 / 3, .round_up_to = 256};
  EXPECT_EQ(f(4096), 11008);  // Llama 7B
  EXPECT_EQ(f.as<ScaledDim>()->round_up_to, 256);
  EXPECT_EQ(f.as<Doubled>(), nullptr);
  Fn<int64_t(int64_t)> g = f;
  EXPECT_TRUE(f == g);
  g = ScaledDim{.scale = 8.0 / 3, .round_up_to = 128};
  EXPECT_FALSE(f == g);
  g = 11008;
  EXPECT_TRUE(g.is_constant());
  EXPECT_EQ(g(1), 11008);
  EXPECT_FALSE(f == g);
  EXPECT_TRUE(g == (Fn<int64_t(int64_t)>(11008)));
  Fn<double(int64_t)> empty;
  EXPECT_FALSE(empty);
  EXPECT_EQ(thrown([&] { (void)empty(1); }).code(), ErrorCode::missing_field);
}

static_assert(!std::is_constructible_v<Fn<int64_t(int64_t)>, Warmup>);
static_assert(!std::is_constructible_v<Fn<int64_t(int64_t)>, double>);
static_assert(!std::is_constructible_v<Fn<bool(int64_t)>, bool (*)(int64_t)>);
static_assert(!std::is_constructible_v<Slot<FeedForward>, Linear::Config>);
static_assert(std::is_aggregate_v<ScaledDim> && std::is_aggregate_v<MeshShape>);

TEST(Fn, RefusesAnotherSignatureThanRegistered) {
  // Callable, by conversion, but declared as double(int64_t).
  const Error error = thrown([] { Fn<double(int32_t)> f = Warmup{}; });
  EXPECT_EQ(error.code(), ErrorCode::wrong_type);
  EXPECT_THAT(error.what(), HasSubstr("double(int64_t)"));
}

TEST(ConfigType, ListsTheInterfacesFieldsFirst) {
  const ConfigType& type = Linear::Config::static_type();
  EXPECT_EQ(type.name(), "Linear");
  EXPECT_THAT(field_names(type.fields()),
              ElementsAre("compute_dtype", "input_dim", "output_dim", "bias", "weight_partition"));
  EXPECT_EQ(find_field(type.fields(), "bias")->doc, "whether b is added");
  EXPECT_EQ(find_field(type.fields(), "compute_dtype")->doc, "dtype to compute in; empty: inherited");
  EXPECT_EQ(type.num_interface_fields(), 1U);
  EXPECT_TRUE(type.is_a(Part::Config::static_type()));
  EXPECT_FALSE(type.is_a(FeedForward::Config::static_type()));
  EXPECT_TRUE(FeedForward::Config::static_type().is_abstract());
  EXPECT_EQ(thrown([] { (void)FeedForward::Config::static_type().make(); }).code(), ErrorCode::invalid_argument);
}

TEST(AnyConfig, ComparesByValueThroughChildren) {
  Experts::Config a, b;
  EXPECT_TRUE(a == b);
  b.expert.as<GatedFeedForward>().hidden_dim = 7;
  EXPECT_FALSE(a == b);
  EXPECT_TRUE(*clone(b) == b);
  EXPECT_FALSE(static_cast<const AnyConfig&>(a) == static_cast<const AnyConfig&>(Linear::Config{}));
}

TEST(Build, MakesTheModuleOfTheConfig) {
  GatedFeedForward::Config c;
  c.input_dim = 4096;
  EXPECT_EQ(build_as<FeedForward>(c)->width(), 11008);
  Slot<FeedForward> slot = c;
  slot = Experts::Config{};
  slot->input_dim = 1;
  EXPECT_EQ(slot.build()->width(), 8);
}

TEST(Build, NamesAllOwnMissingFields) {
  const Error two = thrown([] { build(Linear::Config{}); });
  EXPECT_EQ(two.code(), ErrorCode::missing_field);
  EXPECT_STREQ(two.what(), "missing_field: required fields were never set: input_dim, output_dim");
  GatedFeedForward::Config c;  // linear's dimensions are its parent's to set
  EXPECT_EQ(thrown([&] { build(c); }).path(), "input_dim");
  c.input_dim = 2;
  c.linear.reset();
  EXPECT_EQ(thrown([&] { build(c); }).path(), "linear");
}

TEST(Build, RunsChecks) {
  Linear::Config c;
  c.input_dim = 3;
  c.output_dim = 0;
  const Error error = thrown([&] { build(c); });
  EXPECT_STREQ(error.what(), "invalid_argument at output_dim: must be positive, is 0");
}

}  // namespace
}  // namespace tenon
