#include "tenon/base/literal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tenon/base/error.h"

namespace tenon {
namespace {

TEST(LiteralTest, HoldsItsValues) {
  const std::vector<double> values = {1, -2.5, 3, 1e10, 0, 6};
  const Literal x = Literal::from(DType::f32, {2, 3}, values);
  EXPECT_EQ(x.size(), 6);
  EXPECT_EQ(x.bytes().size(), 24u);
  EXPECT_EQ(x.to_doubles(), values);
  EXPECT_EQ(x.as_int(1), -2);
  EXPECT_EQ(Literal::scalar(DType::bf16, 1.5).as_double(0), 1.5);
  EXPECT_EQ(Literal::scalar_int(DType::i64, -7).as_int(0), -7);
  EXPECT_EQ(Literal(TensorType{DType::i32, {2}}).to_doubles(), (std::vector<double>{0, 0}));
  EXPECT_EQ(Literal(TensorType{DType::f32, {0, 5}}).size(), 0);
}

TEST(LiteralTest, RefusesAWrongNumber) {
  EXPECT_THROW(Literal::from(DType::f32, {2}, std::vector<double>{1, 2, 3}), Error);
  EXPECT_THROW(Literal(TensorType{DType::f32, {2}}, std::vector<std::byte>(7)), Error);
  EXPECT_THROW(Literal(TensorType{DType::f32, {2}}).as_double(2), Error);
  EXPECT_THROW(Literal(TensorType{DType::f32, {2}}).set(-1, 0), Error);
}

TEST(LiteralTest, ConversionsSaturate) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Literal::scalar(DType::i8, 300).as_int(0), 127);
  EXPECT_EQ(Literal::scalar(DType::i8, -inf).as_int(0), -128);
  EXPECT_EQ(Literal::scalar(DType::u8, -5).as_int(0), 0);
  EXPECT_EQ(Literal::scalar(DType::i32, std::nan("")).as_int(0), 0);
  EXPECT_EQ(Literal::scalar(DType::i64, 1e300).as_int(0), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(Literal::scalar(DType::u64, inf).as_double(0), 18446744073709551616.0);
  EXPECT_EQ(Literal::scalar(DType::i1, 0.25).as_int(0), 1);
  EXPECT_EQ(Literal::scalar(DType::f64, -1e300).as_int(0), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(Literal::scalar(DType::i32, -2.9).as_int(0), -2);
}

TEST(LiteralTest, LargeIntegersRoundOnce) {
  // 2^60 + 2^36 is half way between two f32 values; one more must round up, though a double can't tell them apart.
  const int64_t tie = (int64_t{1} << 60) + (int64_t{1} << 36);
  EXPECT_EQ(Literal::scalar_int(DType::f32, tie).as_double(0), std::ldexp(1, 60));
  EXPECT_EQ(Literal::scalar_int(DType::f32, tie + 1).as_double(0), std::ldexp(1, 60) + std::ldexp(1, 37));
  EXPECT_EQ(Literal::scalar_int(DType::f32, -tie - 1).as_double(0), -std::ldexp(1, 60) - std::ldexp(1, 37));
  EXPECT_EQ(Literal::scalar_int(DType::f32, std::numeric_limits<int64_t>::min()).as_double(0), -std::ldexp(1, 63));
}

}  // namespace
}  // namespace tenon
