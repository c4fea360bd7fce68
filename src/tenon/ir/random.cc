#include "tenon/ir/random.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "tenon/ir/element_counter.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/ops/support.h"

namespace tenon {
namespace {

constexpr uint32_t kFoldInteger = 0x80000000, kFoldName = 0xC0000000;

Tensor u32(uint32_t value) { return full({DType::u32, {}}, value); }

// The batch of keys; throws unless `key` is u32[B…, 2].
Dims batch_of(const Tensor& key) {
  const TensorType& type = key.type();
  if (type.dtype != DType::u32 || type.dims.empty() || type.dims.back() != 2) {
    shape_error("a random key is u32[2] or u32[..., 2], not {}", to_string(type));
  }
  return {type.dims.begin(), type.dims.end() - 1};
}

Tensor key_word(const Tensor& key, int64_t which) { return squeeze(slice_dim(key, -1, which, which + 1), -1); }

// `x` [B…] along the leading dimensions of `shape`.
Tensor lead(const Tensor& x, const Dims& shape) {
  if (x.dims() == shape) return x;
  Dims dims(x.dims().size());
  std::iota(dims.begin(), dims.end(), 0);
  return broadcast_in_dim(x, shape, dims);
}

// The rounds, on arrays of one shape; shift amounts are made once each.
class Rounds {
 public:
  explicit Rounds(Dims shape) : type_{DType::u32, std::move(shape)} {}

  void mix(RandomWords& x, int rotation) {
    x.first = add(x.first, x.second);
    const Tensor rotated =
        logical_or(shift_left(x.second, amount(rotation)), shift_right_logical(x.second, amount(32 - rotation)));
    x.second = logical_xor(rotated, x.first);
  }

 private:
  const Tensor& amount(int bits) {
    Tensor& t = amounts_[bits];
    if (!t) t = full(type_, bits);
    return t;
  }
  TensorType type_;
  std::map<int, Tensor> amounts_;
};

RandomWords draw(const Tensor& key, const Dims& shape) {
  Dims full_shape = batch_of(key);
  const size_t batch_rank = full_shape.size();
  full_shape.insert(full_shape.end(), shape.begin(), shape.end());
  const ElementCounter counter = element_counter(full_shape, batch_rank, row_major_strides(shape));
  return threefry2x32(key, counter.low, counter.high);
}

Tensor fold(const Tensor& key, const Tensor& low, uint32_t high) {
  const RandomWords words = threefry2x32(key, low, full_like(low, high));
  const std::array<Tensor, 2> columns = {expand_dims(words.first, -1), expand_dims(words.second, -1)};
  return concatenate(columns, -1);
}

// Odd multiples of 2^-24 in (-1, 1): symmetric, and never where the inverse error function is infinite.
Tensor symmetric_uniform(const Tensor& key, const Dims& shape) {
  const Tensor bits = draw(key, shape).first;
  const Tensor k = bitcast(shift_right_logical(bits, full_like(bits, 8)), DType::i32);
  const Tensor odd = k * 2.0 + (1.0 - 0x1p24);
  return convert(odd, DType::f32) * 0x1p-24;
}

Tensor polynomial(const Tensor& w, std::array<double, 9> highest_first) {
  Tensor p = full_like(w, highest_first[0]);
  for (size_t i = 1; i < highest_first.size(); ++i) p = p * w + highest_first[i];
  return p;
}

// sqrt(2) erfinv(x), f32, for |x| < 1.
Tensor normal_from_uniform(const Tensor& x) {
  const Tensor w = -log((1.0 - x) * (1.0 + x));
  const Tensor center = polynomial(w - 2.5, {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06,
                                             0.00021858087, -0.00125372503, -0.00417768164, 0.246640727, 1.50140941});
  const Tensor tail = polynomial(sqrt(w) - 3.0, {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844,
                                                 0.00573950773, -0.0076224613, 0.00943887047, 1.00167406, 2.83297682});
  return select(less(w, full_like(w, 5)), center, tail) * x * 1.4142135623730951;
}

int precision_bits(DType dtype) {
  switch (dtype) {
    case DType::f8e5m2:
      return 3;
    case DType::f8e4m3fn:
      return 4;
    case DType::bf16:
      return 8;
    case DType::f16:
      return 11;
    default:
      return 24;
  }
}

void check_float(DType dtype) {
  if (!is_float(dtype)) shape_error("random floats can't be {}; use random_bits", to_string(dtype));
}

}  // namespace

RandomWords threefry2x32(const Tensor& key, const Tensor& low, const Tensor& high) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const Dims batch = batch_of(key), &shape = low.dims();
  if (low.type() != high.type() || batch.size() > shape.size() ||
      !std::equal(batch.begin(), batch.end(), shape.begin())) {
    shape_error("keys {} don't lead counters {} and {}", to_string(key.type()), to_string(low.type()),
                to_string(high.type()));
  }
  const Tensor k0 = key_word(key, 0), k1 = key_word(key, 1);
  const Tensor parity = full_like(k0, 0x1BD11BDA);
  const std::array<Tensor, 3> schedule = {k0, k1, logical_xor(logical_xor(k0, k1), parity)};
  Rounds rounds(shape);
  RandomWords x{add(low, lead(k0, shape)), add(high, lead(k1, shape))};
  for (size_t group = 0; group < 5; ++group) {
    for (const int rotation : kRotations[group % 2]) rounds.mix(x, rotation);
    const size_t next = group + 1;
    x.first = add(x.first, lead(schedule[next % 3], shape));
    x.second = add(x.second, lead(schedule[(next + 1) % 3] + static_cast<double>(next), shape));
  }
  return x;
}

Tensor make_key(uint64_t seed) {
  const std::array<int64_t, 2> words = {static_cast<int64_t>(seed >> 32), static_cast<int64_t>(seed & 0xFFFFFFFF)};
  return constant(Literal::from(DType::u32, {2}, words));
}

Tensor fold_in(const Tensor& key, const Tensor& data) {
  if (data.dtype() != DType::u32 && data.dtype() != DType::i32) {
    shape_error("fold_in takes u32 or i32, not {}", to_string(data.type()));
  }
  const Dims batch = broadcast_shape(batch_of(key), data.dims());
  Dims key_shape = batch;
  key_shape.push_back(2);
  return fold(broadcast_to(key, key_shape), broadcast_to(bitcast(data, DType::u32), batch), kFoldInteger);
}

Tensor fold_in(const Tensor& key, uint32_t data) { return fold_in(key, u32(data)); }

Tensor fold_in(const Tensor& key, std::string_view name) {
  uint64_t hash = 0xCBF29CE484222325;
  for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001B3;
  const Tensor low = full({DType::u32, batch_of(key)}, static_cast<double>(hash & 0xFFFFFFFF));
  return fold(key, low, static_cast<uint32_t>(hash >> 32) | kFoldName);
}

Tensor random_bits(const Tensor& key, const Dims& shape) { return draw(key, shape).first; }

Tensor random_uniform(const Tensor& key, const Dims& shape, DType dtype) {
  check_float(dtype);
  const RandomWords words = draw(key, shape);
  const auto top = [](const Tensor& bits, int count) { return shift_right_logical(bits, full_like(bits, 32 - count)); };
  if (dtype == DType::f64) {
    return (convert(top(words.first, 27), dtype) * 0x1p26 + convert(top(words.second, 26), dtype)) * 0x1p-53;
  }
  const int p = precision_bits(dtype);
  return convert(convert(top(words.first, p), DType::f32) * (1.0 / (1 << p)), dtype);
}

Tensor random_normal(const Tensor& key, const Dims& shape, DType dtype) {
  check_float(dtype);
  return convert(normal_from_uniform(symmetric_uniform(key, shape)), dtype);
}

Tensor random_truncated_normal(const Tensor& key, const Dims& shape, DType dtype) {
  constexpr double kErfOfSqrt2 = 0.95449973610364158;
  check_float(dtype);
  const Tensor x = normal_from_uniform(symmetric_uniform(key, shape) * kErfOfSqrt2);
  return convert(minimum(maximum(x, full_like(x, -2)), full_like(x, 2)), dtype);
}

}  // namespace tenon
