#include "tenon/conformance/op_compare.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tenon {
namespace {

Literal f32(std::vector<double> values) {
  return Literal::from(DType::f32, {static_cast<int64_t>(values.size())}, values);
}

TEST(OpCompare, MostFloatsAgreeToTheBit) {
  const float next = std::nextafterf(1.5F, 2.0F);
  EXPECT_EQ(compare_results("add", f32({1.5, -2}), f32({1.5, -2})), "");
  EXPECT_EQ(compare_results("add", f32({1.5, next}), f32({1.5, 1.5})),
            "element 1 is 1.5000001192092896, the interpreter says 1.5");
  EXPECT_EQ(compare_results("exp", f32({next}), f32({1.5})), "");
  EXPECT_NE(compare_results("exp", f32({1.51}), f32({1.5})), "");
  EXPECT_NE(compare_results("add", f32({0.0}), f32({-0.0})), "");
  EXPECT_EQ(compare_results("exp", f32({0.0}), f32({-0.0})), "");
}

TEST(OpCompare, SpecialValuesAndTypes) {
  EXPECT_EQ(compare_results("exp", f32({NAN}), f32({NAN})), "");
  EXPECT_NE(compare_results("exp", f32({1}), f32({NAN})), "");
  EXPECT_NE(compare_results("exp", f32({NAN}), f32({1})), "");
  EXPECT_EQ(compare_results("exp", f32({INFINITY}), f32({INFINITY})), "");
  EXPECT_NE(compare_results("exp", f32({3e38}), f32({INFINITY})), "");
  EXPECT_EQ(compare_results("add", f32({1}), f32({1, 2})), "f32[1] in place of f32[2]");
}

}  // namespace
}  // namespace tenon
