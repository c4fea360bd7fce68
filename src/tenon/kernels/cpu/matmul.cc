#include "tenon/kernels/cpu/matmul.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenon/kernels/cpu/matmul.cc"
#include <hwy/foreach_target.h>  // includes this file again for each target
//
#include <algorithm>
#include <cstring>
#include <vector>

#include "tenon/kernels/cpu/gemm-inl.h"
#include "tenon/kernels/cpu/matmul_part.h"
#include "tenon/kernels/cpu/scratch.h"

HWY_BEFORE_NAMESPACE();
namespace tenon {
namespace HWY_NAMESPACE {

// A tile of C stays in registers: kTileRows x kTileVectors vectors.
inline constexpr size_t kTileVectors = kLanes >= 16 ? 4 : 2, kTileRows = 6;
inline constexpr size_t kTileColumns = kTileVectors * kLanes;

// Rows of A as groups of kTileRows, [group][k][row]; missing rows are 0.
HWY_INLINE void pack_a(const MatmulShape& s, const float* a, const MatmulPart& part, size_t first_k, size_t depth,
                       float* to) {
  const auto M = static_cast<size_t>(s.M), K = static_cast<size_t>(s.K);
  for (size_t m = 0; m < part.rows; m += kTileRows, to += depth * kTileRows) {
    const size_t rows = std::min(kTileRows, part.rows - m), row = part.row + m;
    if (rows < kTileRows) std::memset(to, 0, depth * kTileRows * sizeof(float));
    for (size_t k = 0; k < depth; ++k) {
      for (size_t r = 0; r < rows; ++r) {
        to[k * kTileRows + r] = s.a_transposed ? a[(first_k + k) * M + row + r] : a[(row + r) * K + first_k + k];
      }
    }
  }
}

// kTileColumns columns of B; missing ones are 0.
HWY_INLINE void pack_b(const float* b, size_t row_size, size_t columns, size_t depth, float* to) {
  const FloatTag d;
  for (size_t k = 0; k < depth; ++k, b += row_size, to += kTileColumns) {
    if (columns == kTileColumns) {
      HWY_UNROLL(4)
      for (size_t v = 0; v < kTileVectors; ++v) hn::Store(hn::LoadU(d, b + v * kLanes), d, to + v * kLanes);
    } else {
      std::memcpy(to, b, columns * sizeof(float));
      std::memset(to + columns, 0, (kTileColumns - columns) * sizeof(float));
    }
  }
}

// One tile; where C ends inside it, by way of `edge`.
template <bool kAdd>
HWY_INLINE void tile(const float* a, const float* b, float* c, size_t c_row, size_t rows, size_t columns, size_t depth,
                     float* edge) {
  const MatrixView view{a, 1, kTileRows};
  if (rows == kTileRows && columns == kTileColumns) {
    return multiply_tile<kTileRows, kTileVectors, kAdd>(view, b, kTileColumns, c, c_row, depth);
  }
  multiply_tile<kTileRows, kTileVectors, false>(view, b, kTileColumns, edge, kTileColumns, depth);
  for (size_t r = 0; r < rows; ++r) {
    for (size_t n = 0; n < columns; ++n) c[r * c_row + n] = edge[r * kTileColumns + n] + (kAdd ? c[r * c_row + n] : 0);
  }
}

void multiply_part(const MatmulShape& s, const float* a, const float* b, float* c, const MatmulPart& part,
                   size_t max_depth) {
  const auto N = static_cast<size_t>(s.N), K = static_cast<size_t>(s.K);
  const size_t groups = (part.rows + kTileRows - 1) / kTileRows;
  Scratch scratch(groups * kTileRows * max_depth + kTileColumns * max_depth + kTileRows * kTileColumns, 3);
  float *rows = scratch.take(groups * kTileRows * max_depth), *columns = scratch.take(kTileColumns * max_depth),
        *edge = scratch.take(kTileRows * kTileColumns);
  for (size_t k = 0; k < K; k += max_depth) {
    const size_t depth = std::min(max_depth, K - k);
    pack_a(s, a, part, k, depth, rows);
    for (size_t n = 0; n < part.columns; n += kTileColumns) {
      const size_t width = std::min(kTileColumns, part.columns - n), column = part.column + n;
      pack_b(b + k * N + column, N, width, depth, columns);
      for (size_t g = 0; g < groups; ++g) {
        const size_t m = g * kTileRows, height = std::min(kTileRows, part.rows - m);
        float* to = c + (part.row + m) * N + column;
        if (k == 0) {
          tile<false>(rows + m * depth, columns, to, N, height, width, depth, edge);
        } else {
          tile<true>(rows + m * depth, columns, to, N, height, width, depth, edge);
        }
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon {

HWY_EXPORT(multiply_part);

namespace {

// Rows, columns and depth of what a task packs: with a panel of B it fits into a second-level cache of 1 MiB.
constexpr int64_t kRows = 240, kColumns = 512, kDepth = 512;

// `n` in equal pieces of at most `most`, each but the last a multiple of `unit`.
int64_t piece(int64_t n, int64_t most, int64_t unit) {
  const int64_t pieces = (n + most - 1) / most;
  return ((n + pieces - 1) / pieces + unit - 1) / unit * unit;
}

// B [K,N] from [N,K], in squares that fit the first-level cache.
void transpose(const MatmulShape& s, const float* from, float* to, const Workers& workers) {
  constexpr int64_t kSquare = 32;
  parallel_for(workers, (s.K + kSquare - 1) / kSquare, [&](int64_t task) {
    const int64_t first = task * kSquare, last = std::min(first + kSquare, s.K);
    for (int64_t n0 = 0; n0 < s.N; n0 += kSquare) {
      const int64_t n1 = std::min(n0 + kSquare, s.N);
      for (int64_t k = first; k < last; ++k) {
        for (int64_t n = n0; n < n1; ++n) to[k * s.N + n] = from[n * s.K + k];
      }
    }
  });
}

}  // namespace

void matmul(const MatmulShape& s, const float* a, const float* b, float* c, const Workers& workers) {
  if (s.K == 0) {
    std::fill_n(c, s.M * s.N, 0.0f);
    return;
  }
  static thread_local std::vector<float> turned;
  if (s.b_transposed) {
    if (turned.size() < static_cast<size_t>(s.K * s.N)) turned.resize(static_cast<size_t>(s.K * s.N));
    transpose(s, b, turned.data(), workers);
    b = turned.data();
  }
  const int64_t rows = piece(s.M, kRows, 6), columns = piece(s.N, kColumns, 64), depth = piece(s.K, kDepth, 1);
  const int64_t down = (s.M + rows - 1) / rows, across = (s.N + columns - 1) / columns;
  parallel_for(workers, down * across, [&](int64_t task) {
    const int64_t row = task / across * rows, column = task % across * columns;
    const auto z = [](int64_t n) { return static_cast<size_t>(n); };
    HWY_DYNAMIC_DISPATCH(multiply_part)
    (s, a, b, c, {z(row), z(std::min(rows, s.M - row)), z(column), z(std::min(columns, s.N - column))}, z(depth));
  });
}

}  // namespace tenon
#endif
