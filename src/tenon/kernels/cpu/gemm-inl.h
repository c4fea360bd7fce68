// Small matrix products in registers, for one SIMD target (see highway's foreach_target.h).
//
// Included once per target, so it has no ordinary guard.
#if defined(TENON_KERNELS_CPU_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_KERNELS_CPU_GEMM_INL_H_
#undef TENON_KERNELS_CPU_GEMM_INL_H_
#else
#define TENON_KERNELS_CPU_GEMM_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>

HWY_BEFORE_NAMESPACE();
namespace tenon {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVector = hn::Vec<FloatTag>;
inline constexpr size_t kLanes = HWY_LANES(float);

// Element (m, k) is at data[m * row + k * column]; a plain row-major array has column 1.
struct MatrixView {
  const float* data;
  size_t row, column;
};

// C rows [0,kRows) x kVectors vectors: C = or += A B, over `depth`. B's and C's columns are contiguous.
template <size_t kRows, size_t kVectors, bool kAdd>
HWY_INLINE void multiply_tile(const MatrixView& a, const float* HWY_RESTRICT b, size_t b_row, float* HWY_RESTRICT c,
                              size_t c_row, size_t depth) {
  const FloatTag d;
  FloatVector sum[kRows][kVectors];
  HWY_UNROLL(16)
  for (size_t m = 0; m < kRows; ++m) {
    HWY_UNROLL(4)
    for (size_t v = 0; v < kVectors; ++v) sum[m][v] = kAdd ? hn::LoadU(d, c + m * c_row + v * kLanes) : hn::Zero(d);
  }
  const float* a_k = a.data;
  for (size_t k = 0; k < depth; ++k, a_k += a.column, b += b_row) {
    FloatVector columns[kVectors];
    HWY_UNROLL(4)
    for (size_t v = 0; v < kVectors; ++v) columns[v] = hn::LoadU(d, b + v * kLanes);
    HWY_UNROLL(16)
    for (size_t m = 0; m < kRows; ++m) {
      const FloatVector x = hn::Set(d, a_k[m * a.row]);
      HWY_UNROLL(4)
      for (size_t v = 0; v < kVectors; ++v) sum[m][v] = hn::MulAdd(x, columns[v], sum[m][v]);
    }
  }
  HWY_UNROLL(16)
  for (size_t m = 0; m < kRows; ++m) {
    HWY_UNROLL(4)
    for (size_t v = 0; v < kVectors; ++v) hn::StoreU(sum[m][v], d, c + m * c_row + v * kLanes);
  }
}

template <size_t kVectors, bool kAdd>
HWY_NOINLINE void multiply_panel(size_t rows, MatrixView a, const float* b, size_t b_row, float* c, size_t c_row,
                                 size_t depth) {
  // Sums, a row of B and one element of A fit in the registers: 32 of AVX-512, 16 of others.
  constexpr size_t kRegisters = kLanes >= 16 ? 32 : 16;
  constexpr size_t kRows = kVectors == 4   ? (kRegisters == 32 ? 6 : 2)
                           : kVectors == 3 ? (kRegisters == 32 ? 8 : 4)
                           : kVectors == 2 ? (kRegisters == 32 ? 12 : 6)
                                           : 8;
  const auto step = [&](size_t count) {
    rows -= count;
    a.data += count * a.row;
    c += count * c_row;
  };
  while (rows >= kRows) {
    multiply_tile<kRows, kVectors, kAdd>(a, b, b_row, c, c_row, depth);
    step(kRows);
  }
  while (rows >= 4) {
    multiply_tile<4, kVectors, kAdd>(a, b, b_row, c, c_row, depth);
    step(4);
  }
  while (rows >= 1) {
    multiply_tile<1, kVectors, kAdd>(a, b, b_row, c, c_row, depth);
    step(1);
  }
}

// C [rows, columns] = or += A [rows, depth] B [depth, columns]; `columns` is a multiple of kLanes.
template <bool kAdd>
HWY_INLINE void multiply(size_t rows, size_t columns, size_t depth, const MatrixView& a, const float* b, size_t b_row,
                         float* c, size_t c_row) {
  constexpr size_t kWidest = kLanes >= 16 ? 4 : 2;
  for (size_t n = 0; n < columns;) {
    const size_t left = (columns - n) / kLanes;
    if (left >= kWidest && kWidest == 4) {
      multiply_panel<4, kAdd>(rows, a, b + n, b_row, c + n, c_row, depth);
      n += 4 * kLanes;
    } else if (left == 3 && kWidest == 4) {
      multiply_panel<3, kAdd>(rows, a, b + n, b_row, c + n, c_row, depth);
      n += 3 * kLanes;
    } else if (left >= 2) {
      multiply_panel<2, kAdd>(rows, a, b + n, b_row, c + n, c_row, depth);
      n += 2 * kLanes;
    } else {
      multiply_panel<1, kAdd>(rows, a, b + n, b_row, c + n, c_row, depth);
      n += kLanes;
    }
  }
}

// e^x to 2 units in the last place; the ends of the range of f32 for what is beyond, NaN for NaN.
HWY_INLINE FloatVector exp_of(FloatVector x) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> di;
  const FloatVector low = hn::Set(d, -87.33654f), high = hn::Set(d, 88.3762626647949f);
  x = hn::IfThenElse(hn::Lt(x, low), low, x);
  x = hn::IfThenElse(hn::Gt(x, high), high, x);
  const FloatVector n = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504088896341f)));
  FloatVector r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  FloatVector p = hn::Set(d, 1.9875691500e-4f);
  p = hn::MulAdd(p, r, hn::Set(d, 1.3981999507e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 8.3334519073e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 4.1665795894e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.6666665459e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 5.0000001201e-1f));
  p = hn::MulAdd(hn::Mul(p, r), r, hn::Add(r, hn::Set(d, 1.0f)));
  const auto power = hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(di, n), hn::Set(di, 127)));
  return hn::Mul(p, hn::BitCast(d, power));
}

HWY_INLINE FloatVector tanh_of(FloatVector x) {
  const FloatTag d;
  // tanh x = (1 - e^-2|x|) / (1 + e^-2|x|) with the sign of x.
  const FloatVector e = exp_of(hn::Mul(hn::Abs(x), hn::Set(d, -2.0f))), one = hn::Set(d, 1.0f);
  return hn::CopySign(hn::Div(hn::Sub(one, e), hn::Add(one, e)), x);
}

}  // namespace HWY_NAMESPACE
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#endif
