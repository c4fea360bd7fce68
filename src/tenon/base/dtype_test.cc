#include "tenon/base/dtype.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

namespace tenon {
namespace {

uint32_t stored(DType dtype, double value) {
  std::array<std::byte, 8> bytes{};
  store_float(dtype, bytes.data(), value);
  uint32_t bits = 0;
  std::memcpy(&bits, bytes.data(), byte_size(dtype));
  return bits;
}
double loaded(DType dtype, uint32_t bits) {
  std::array<std::byte, 4> bytes{};
  std::memcpy(bytes.data(), &bits, byte_size(dtype));
  return load_float(dtype, bytes.data());
}

TEST(DTypeTest, NamesRoundTripAndOthersAreRefused) {
  for (const DType dtype : kAllDTypes) EXPECT_EQ(parse_dtype(to_string(dtype)), dtype);
  EXPECT_EQ(to_string(DType::f8e4m3fn), "f8e4m3fn");
  EXPECT_EQ(parse_dtype("float32"), std::nullopt);
  EXPECT_EQ(parse_dtype(""), std::nullopt);
}

TEST(DTypeTest, KnownCodes) {
  // From the definitions of the formats (IEEE 754; arXiv:2209.05433, table 1).
  EXPECT_EQ(stored(DType::bf16, 1.0), 0x3F80u);
  EXPECT_EQ(stored(DType::bf16, M_PI), 0x4049u);
  EXPECT_EQ(stored(DType::f16, -2.0), 0xC000u);
  EXPECT_EQ(stored(DType::f16, 65504.0), 0x7BFFu);
  EXPECT_EQ(stored(DType::f16, std::ldexp(1, -24)), 0x0001u);
  EXPECT_EQ(stored(DType::f8e4m3fn, 448), 0x7Eu);
  EXPECT_EQ(stored(DType::f8e4m3fn, std::ldexp(1, -9)), 0x01u);
  EXPECT_EQ(stored(DType::f8e5m2, 57344), 0x7Bu);
  EXPECT_EQ(stored(DType::f8e5m2, std::ldexp(1, -16)), 0x01u);
  EXPECT_EQ(loaded(DType::bf16, 0xFF80), -std::numeric_limits<double>::infinity());
}

class SmallFloatTest : public testing::TestWithParam<DType> {
 protected:
  uint32_t sign_bit() const { return byte_size(GetParam()) == 1 ? 0x80 : 0x8000; }
};

TEST_P(SmallFloatTest, EveryCodeRoundTrips) {
  for (uint32_t code = 0; code < 2 * sign_bit(); ++code) {
    const double value = loaded(GetParam(), code);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(loaded(GetParam(), stored(GetParam(), value)))) << code;
    } else {
      EXPECT_EQ(stored(GetParam(), value), code);
    }
  }
}

TEST_P(SmallFloatTest, RoundsToTheNearestAndTiesToEven) {
  for (uint32_t code = 0; code + 1 < sign_bit(); ++code) {
    const double low = loaded(GetParam(), code), high = loaded(GetParam(), code + 1);
    if (!std::isfinite(high)) break;
    ASSERT_LT(low, high);
    const double middle = low + (high - low) / 2;  // exact in double
    const uint32_t even = code % 2 == 0 ? code : code + 1;
    ASSERT_EQ(stored(GetParam(), middle), even) << code;
    ASSERT_EQ(stored(GetParam(), std::nextafter(middle, low)), code);
    ASSERT_EQ(stored(GetParam(), std::nextafter(middle, high)), code + 1);
    ASSERT_EQ(stored(GetParam(), -std::nextafter(middle, high)), (code + 1) | sign_bit());
  }
}

TEST_P(SmallFloatTest, OutOfRange) {
  const bool has_infinity = GetParam() != DType::f8e4m3fn;
  for (const double big : {1e300, std::numeric_limits<double>::infinity()}) {
    const double up = loaded(GetParam(), stored(GetParam(), big));
    const double down = loaded(GetParam(), stored(GetParam(), -big));
    EXPECT_TRUE(has_infinity ? std::isinf(up) && up > 0 : std::isnan(up));
    EXPECT_TRUE(has_infinity ? std::isinf(down) && down < 0 : std::isnan(down));
  }
  EXPECT_EQ(stored(GetParam(), 5e-324), 0u);
  EXPECT_EQ(stored(GetParam(), -0.0), sign_bit());
}

INSTANTIATE_TEST_SUITE_P(All, SmallFloatTest, testing::Values(DType::bf16, DType::f16, DType::f8e4m3fn, DType::f8e5m2),
                         [](const auto& param) { return std::string(to_string(param.param)); });

TEST(DTypeTest, TheLastStepBeforeOverflowIsATie) {
  EXPECT_EQ(stored(DType::f8e4m3fn, 464), 0x7Eu);  // half way to 480, which doesn't exist: even wins
  EXPECT_EQ(stored(DType::f8e4m3fn, 464.1), 0x7Fu);
  EXPECT_EQ(stored(DType::f16, 65519.99), 0x7BFFu);
  EXPECT_EQ(stored(DType::f16, 65520), 0x7C00u);
}

TEST(DTypeTest, NoDoubleRounding) {
  // Through f32 this would become the tie 1 + 2^-8 and then 1.
  EXPECT_EQ(stored(DType::bf16, 1 + std::ldexp(1, -8) + std::ldexp(1, -40)), 0x3F81u);
}

TEST(DTypeTest, IntegersKeepTheirLowBits) {
  std::array<std::byte, 8> p{};
  store_int(DType::i8, p.data(), -1);
  EXPECT_EQ(load_int(DType::i8, p.data()), -1);
  EXPECT_EQ(load_int(DType::u8, p.data()), 255);
  store_int(DType::u32, p.data(), -2);
  EXPECT_EQ(load_int(DType::u32, p.data()), 4294967294);
  EXPECT_EQ(load_int(DType::i32, p.data()), -2);
  store_int(DType::i8, p.data(), 300);
  EXPECT_EQ(load_int(DType::i8, p.data()), 44);
  store_int(DType::i1, p.data(), 2);
  EXPECT_EQ(p[0], std::byte{1});
  store_int(DType::u64, p.data(), -1);
  EXPECT_EQ(load_int(DType::u64, p.data()), -1);
}

}  // namespace
}  // namespace tenon
