#include "tenon/base/dtype.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "tenon/base/error.h"

namespace tenon {
namespace {

struct Row {
  std::string_view name;
  size_t bytes;
};
constexpr std::array<Row, 13> kRows = {{{"i1", 1},
                                        {"i8", 1},
                                        {"i32", 4},
                                        {"i64", 8},
                                        {"u8", 1},
                                        {"u32", 4},
                                        {"u64", 8},
                                        {"f8e4m3fn", 1},
                                        {"f8e5m2", 1},
                                        {"bf16", 2},
                                        {"f16", 2},
                                        {"f32", 4},
                                        {"f64", 8}}};
static_assert(kRows.size() == static_cast<size_t>(DType::f64) + 1);

// A float of at most 16 bits: sign, exponent, mantissa. Codes above `max_finite` are infinity (if any) and NaN.
struct SmallFloat {
  int mantissa_bits;
  int bias;
  uint32_t sign_bit;
  uint32_t max_finite;
  uint32_t infinity;  // equals `nan` where the format has no infinity
  uint32_t nan;
};
constexpr SmallFloat kF8E4M3FN{3, 7, 0x80, 0x7E, 0x7F, 0x7F};
constexpr SmallFloat kF8E5M2{2, 15, 0x80, 0x7B, 0x7C, 0x7E};
constexpr SmallFloat kBF16{7, 127, 0x8000, 0x7F7F, 0x7F80, 0x7FC0};
constexpr SmallFloat kF16{10, 15, 0x8000, 0x7BFF, 0x7C00, 0x7E00};

const SmallFloat& small_float(DType dtype) {
  switch (dtype) {
    case DType::f8e4m3fn:
      return kF8E4M3FN;
    case DType::f8e5m2:
      return kF8E5M2;
    case DType::bf16:
      return kBF16;
    case DType::f16:
      return kF16;
    default:
      throw Error(ErrorCode::internal, "not a float type").got(std::string(to_string(dtype)));
  }
}

double decode(const SmallFloat& format, uint32_t bits) {
  const double sign = (bits & format.sign_bit) != 0 ? -1.0 : 1.0;
  const uint32_t code = bits & (format.sign_bit - 1);
  if (code > format.max_finite) {
    const bool infinite = code == format.infinity && format.infinity != format.nan;
    return std::copysign(infinite ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN(),
                         sign);
  }
  const int exponent = static_cast<int>(code >> format.mantissa_bits);
  const uint32_t implicit_one = exponent == 0 ? 0 : 1U << format.mantissa_bits;
  const uint32_t mantissa = (code & ((1U << format.mantissa_bits) - 1)) | implicit_one;
  const int scale = (exponent == 0 ? 1 : exponent) - format.bias - format.mantissa_bits;
  return sign * std::ldexp(static_cast<double>(mantissa), scale);
}

// `x` >= 0 below 2^53 to the nearest integer, ties to even, whatever the rounding mode of the processor.
uint64_t round_half_even(double x) {
  const double floor = std::floor(x);
  const auto low = static_cast<uint64_t>(floor);
  const double rest = x - floor;
  const bool up = rest > 0.5 || (rest == 0.5 && low % 2 == 1);
  return low + (up ? 1 : 0);
}

uint32_t encode(const SmallFloat& format, double value) {
  const uint32_t sign = std::signbit(value) ? format.sign_bit : 0;
  if (std::isnan(value)) return sign | format.nan;
  if (std::isinf(value)) return sign | format.infinity;
  if (value == 0) return sign;
  const double magnitude = std::fabs(value);
  const int exponent = std::max(std::ilogb(magnitude), 1 - format.bias);
  const double in_units = std::ldexp(magnitude, format.mantissa_bits - exponent);
  // Normal numbers carry their implicit one into the exponent field, and so does rounding up to the next power of two.
  const uint64_t code =
      (static_cast<uint64_t>(exponent + format.bias - 1) << format.mantissa_bits) + round_half_even(in_units);
  return sign | (code > format.max_finite ? format.infinity : static_cast<uint32_t>(code));
}

template <class T>
T load(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof(T));
  return value;
}
template <class T>
void store(std::byte* p, T value) {
  std::memcpy(p, &value, sizeof(T));
}

}  // namespace

std::string_view to_string(DType dtype) { return kRows.at(static_cast<size_t>(dtype)).name; }

std::optional<DType> parse_dtype(std::string_view text) {
  for (const DType dtype : kAllDTypes) {
    if (to_string(dtype) == text) return dtype;
  }
  return std::nullopt;
}

size_t byte_size(DType dtype) { return kRows.at(static_cast<size_t>(dtype)).bytes; }

double load_float(DType dtype, const std::byte* p) {
  switch (dtype) {
    case DType::f64:
      return load<double>(p);
    case DType::f32:
      return load<float>(p);
    case DType::bf16:
      return std::bit_cast<float>(static_cast<uint32_t>(load<uint16_t>(p)) << 16);
    default:
      return decode(small_float(dtype), byte_size(dtype) == 1 ? load<uint8_t>(p) : load<uint16_t>(p));
  }
}

void store_float(DType dtype, std::byte* p, double value) {
  switch (dtype) {
    case DType::f64:
      return store(p, value);
    case DType::f32:
      return store(p, static_cast<float>(value));
    default: {
      const uint32_t bits = encode(small_float(dtype), value);
      return byte_size(dtype) == 1 ? store(p, static_cast<uint8_t>(bits)) : store(p, static_cast<uint16_t>(bits));
    }
  }
}

int64_t load_int(DType dtype, const std::byte* p) {
  switch (dtype) {
    case DType::i1:
      return load<uint8_t>(p) != 0 ? 1 : 0;
    case DType::i8:
      return load<int8_t>(p);
    case DType::i32:
      return load<int32_t>(p);
    case DType::i64:
    case DType::u64:
      return load<int64_t>(p);
    case DType::u8:
      return load<uint8_t>(p);
    case DType::u32:
      return load<uint32_t>(p);
    default:
      throw Error(ErrorCode::internal, "not an integer type").got(std::string(to_string(dtype)));
  }
}

void store_int(DType dtype, std::byte* p, int64_t value) {
  switch (dtype) {
    case DType::i1:
      return store(p, static_cast<uint8_t>(value != 0));
    case DType::i8:
    case DType::u8:
      return store(p, static_cast<uint8_t>(value));
    case DType::i32:
    case DType::u32:
      return store(p, static_cast<uint32_t>(value));
    case DType::i64:
    case DType::u64:
      return store(p, value);
    default:
      throw Error(ErrorCode::internal, "not an integer type").got(std::string(to_string(dtype)));
  }
}

}  // namespace tenon
