#include "tenon/ir/element_counter.h"

#include "tenon/ir/ops.h"

namespace tenon {

ElementCounter element_counter(const Dims& shape, size_t first, const Dims& strides) {
  int64_t last = 0;
  for (size_t i = 0; i < strides.size(); ++i) last += (shape[first + i] - 1) * strides[i];
  const bool wide = last >> 32 != 0 && num_elements(shape) > 0;
  const TensorType type{wide ? DType::u64 : DType::u32, shape};
  Tensor sum;
  for (size_t i = 0; i < strides.size(); ++i) {
    if (shape[first + i] == 1) continue;
    Tensor term = iota(type, static_cast<int64_t>(first + i));
    if (strides[i] != 1) term = term * static_cast<double>(strides[i]);
    sum = sum ? add(sum, term) : term;
  }
  if (!sum) sum = zeros(type);
  if (!wide) return {sum, zeros(type)};
  return {convert(sum, DType::u32), convert(shift_right_logical(sum, full_like(sum, 32)), DType::u32)};
}

}  // namespace tenon
