// A dense, row-major array in host memory: constants, interpreter values, checkpoint tensors, transfers.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tenon/base/shape.h"

namespace tenon {

class Literal {
 public:
  Literal() = default;
  // Zeros.
  explicit Literal(TensorType type);
  // Takes `bytes`, which must be byte_size(type) long.
  Literal(TensorType type, std::vector<std::byte> bytes);

  // Values converted to `dtype`; their number must match `dims`.
  static Literal from(DType dtype, const Dims& dims, std::span<const double> values);
  static Literal from(DType dtype, const Dims& dims, std::span<const int64_t> values);
  static Literal scalar(DType dtype, double value);
  static Literal scalar_int(DType dtype, int64_t value);

  const TensorType& type() const { return type_; }
  DType dtype() const { return type_.dtype; }
  const Dims& dims() const { return type_.dims; }
  int64_t size() const { return static_cast<int64_t>(bytes_.size() / tenon::byte_size(type_.dtype)); }
  std::span<const std::byte> bytes() const { return bytes_; }
  std::span<std::byte> bytes() { return bytes_; }

  // Element `i` in row-major order, converted: float to integer truncates and saturates (NaN gives 0), anything to i1
  // is "not zero", integer to float rounds to nearest even.
  double as_double(int64_t i) const;
  int64_t as_int(int64_t i) const;
  void set(int64_t i, double value);
  void set_int(int64_t i, int64_t value);
  // All elements as doubles.
  std::vector<double> to_doubles() const;

  bool operator==(const Literal&) const = default;

 private:
  const std::byte* element(int64_t i) const;
  TensorType type_;
  std::vector<std::byte> bytes_;
};

}  // namespace tenon
