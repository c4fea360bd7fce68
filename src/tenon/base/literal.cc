#include "tenon/base/literal.h"

#include <cmath>
#include <limits>
#include <string>

#include "tenon/base/error.h"

namespace tenon {
namespace {

// Toward zero; out of range saturates, NaN gives 0.
template <class Int>
Int truncate(double value) {
  if (std::isnan(value)) return 0;
  // 2^digits is exact as a double, unlike the largest Int.
  if (value >= std::ldexp(1.0, std::numeric_limits<Int>::digits)) return std::numeric_limits<Int>::max();
  if (value <= static_cast<double>(std::numeric_limits<Int>::min())) return std::numeric_limits<Int>::min();
  return static_cast<Int>(value);
}

int64_t to_integer_bits(DType dtype, double value) {
  switch (dtype) {
    case DType::i1:
      return value != 0 ? 1 : 0;
    case DType::i8:
      return truncate<int8_t>(value);
    case DType::i32:
      return truncate<int32_t>(value);
    case DType::u8:
      return truncate<uint8_t>(value);
    case DType::u32:
      return truncate<uint32_t>(value);
    case DType::u64:
      return static_cast<int64_t>(truncate<uint64_t>(value));
    default:
      return truncate<int64_t>(value);
  }
}

// An integer as a double, rounded to odd, so that rounding once more to a narrower float gives the correct result.
double to_odd_double(int64_t value) {
  constexpr uint64_t kLost = (uint64_t{1} << 11) - 1;
  const uint64_t magnitude = value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  if (magnitude >> 53 == 0) return static_cast<double>(value);
  const uint64_t odd = (magnitude & ~kLost) | ((magnitude & kLost) != 0 ? kLost + 1 : 0);
  return std::copysign(static_cast<double>(odd), value < 0 ? -1.0 : 1.0);
}

template <class T, class Set>
Literal build(DType dtype, const Dims& dims, std::span<const T> values, Set set) {
  Literal literal(TensorType{dtype, dims});
  if (literal.size() != static_cast<int64_t>(values.size())) {
    throw Error(ErrorCode::shape_mismatch, "the number of values doesn't fit the shape " + to_string(dims))
        .got(std::to_string(values.size()))
        .expected(std::to_string(literal.size()));
  }
  for (size_t i = 0; i < values.size(); ++i) (literal.*set)(static_cast<int64_t>(i), values[i]);
  return literal;
}

}  // namespace

Literal::Literal(TensorType type) : type_(std::move(type)), bytes_(static_cast<size_t>(tenon::byte_size(type_))) {}

Literal::Literal(TensorType type, std::vector<std::byte> bytes) : type_(std::move(type)), bytes_(std::move(bytes)) {
  const int64_t expected = tenon::byte_size(type_);
  if (static_cast<int64_t>(bytes_.size()) != expected) {
    throw Error(ErrorCode::shape_mismatch, "the number of bytes doesn't fit the type " + to_string(type_))
        .got(std::to_string(bytes_.size()))
        .expected(std::to_string(expected));
  }
}

Literal Literal::from(DType dtype, const Dims& dims, std::span<const double> values) {
  return build(dtype, dims, values, &Literal::set);
}
Literal Literal::from(DType dtype, const Dims& dims, std::span<const int64_t> values) {
  return build(dtype, dims, values, &Literal::set_int);
}
Literal Literal::scalar(DType dtype, double value) {
  Literal literal(TensorType{dtype, {}});
  literal.set(0, value);
  return literal;
}
Literal Literal::scalar_int(DType dtype, int64_t value) {
  Literal literal(TensorType{dtype, {}});
  literal.set_int(0, value);
  return literal;
}

double Literal::as_double(int64_t i) const {
  const std::byte* p = element(i);
  if (is_float(dtype())) return load_float(dtype(), p);
  const int64_t bits = load_int(dtype(), p);
  return dtype() == DType::u64 ? static_cast<double>(static_cast<uint64_t>(bits)) : static_cast<double>(bits);
}

int64_t Literal::as_int(int64_t i) const {
  const std::byte* p = element(i);
  return is_float(dtype()) ? truncate<int64_t>(load_float(dtype(), p)) : load_int(dtype(), p);
}

void Literal::set(int64_t i, double value) {
  std::byte* p = bytes_.data() + (element(i) - bytes_.data());
  if (is_float(dtype())) return store_float(dtype(), p, value);
  store_int(dtype(), p, to_integer_bits(dtype(), value));
}

void Literal::set_int(int64_t i, int64_t value) {
  std::byte* p = bytes_.data() + (element(i) - bytes_.data());
  if (!is_float(dtype())) return store_int(dtype(), p, value);
  store_float(dtype(), p, dtype() == DType::f64 ? static_cast<double>(value) : to_odd_double(value));
}

std::vector<double> Literal::to_doubles() const {
  std::vector<double> values(static_cast<size_t>(size()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = as_double(static_cast<int64_t>(i));
  return values;
}

const std::byte* Literal::element(int64_t i) const {
  check(i >= 0 && i < size(), "element index inside the array");
  return bytes_.data() + static_cast<size_t>(i) * tenon::byte_size(dtype());
}

}  // namespace tenon
