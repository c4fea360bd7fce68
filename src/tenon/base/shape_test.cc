#include "tenon/base/shape.h"

#include <gtest/gtest.h>

#include "tenon/base/error.h"

namespace tenon {
namespace {

TEST(ShapeTest, CountsAndStrides) {
  EXPECT_EQ(num_elements({}), 1);
  EXPECT_EQ(num_elements({2, 3, 4}), 24);
  EXPECT_EQ(row_major_strides({2, 3, 4}), (Dims{12, 4, 1}));
  EXPECT_EQ(row_major_strides({}), Dims{});
  EXPECT_EQ(to_string(TensorType{DType::bf16, {2, 3}}), "bf16[2,3]");
  EXPECT_EQ(to_string(TensorType{DType::f32, {}}), "f32[]");
  EXPECT_EQ(byte_size(TensorType{DType::bf16, {2, 3}}), 12);
}

TEST(ShapeTest, RefusesWhatDoesNotFit) {
  const int64_t big = int64_t{1} << 62;
  EXPECT_THROW(num_elements({2, -1}), Error);
  EXPECT_THROW(num_elements({0, -1}), Error);
  EXPECT_THROW(num_elements({big, 2}), Error);
  EXPECT_EQ(num_elements({big, 2, 0}), 0);
  EXPECT_THROW(row_major_strides({0, big, 2}), Error);
  EXPECT_THROW(byte_size(TensorType{DType::f64, {big / 4}}), Error);
  try {
    num_elements({big, 4});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string(error.what()).find("[4611686018427387904,4]"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tenon
