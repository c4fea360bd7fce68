#include "tenon/base/partition_spec.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(PartitionSpecTest, TextBothWays) {
  const PartitionSpec spec = {{"data", "fsdp"}, {}, "model"};
  EXPECT_EQ(to_string(spec), "data+fsdp,-,model");
  for (const char* text : {"", "-", "fsdp,model", "data+fsdp,-,model", "-,-"}) {
    const auto parsed = parse_partition_spec(text);
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(to_string(*parsed), text);
  }
  EXPECT_EQ(parse_partition_spec("data+fsdp,-,model").value(), spec);
}

TEST(PartitionSpecTest, RefusesOtherText) {
  for (const char* text : {",", "a,", "a++b", "+", "a b", "1a", "a,a", "a+a", "-+a", "\n"}) {
    const auto parsed = parse_partition_spec(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code(), ErrorCode::invalid_argument);
  }
}

TEST(PartitionSpecTest, StackedPutsUnsplitDimensionsInFront) {
  EXPECT_EQ(to_string(PartitionSpec{"fsdp", "model"}.stacked()), "-,fsdp,model");
  EXPECT_EQ(to_string(PartitionSpec{}.stacked(2)), "-,-");
}

TEST(PartitionSpecTest, AxisOfOneDimension) {
  EXPECT_EQ(to_string(axis_of({"fsdp", {"model", "seq"}}, 1)), "model+seq");
  EXPECT_EQ(to_string(axis_of({{}, "model"}, 0)), "-");
  EXPECT_TRUE(axis_of({"fsdp"}, 1).empty());
}

}  // namespace
}  // namespace tenon
