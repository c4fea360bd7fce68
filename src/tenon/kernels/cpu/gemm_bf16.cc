#include "tenon/kernels/cpu/gemm_bf16.h"

#include <algorithm>

#include "tenon/base/error.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace tenon {
namespace {

#define TENON_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))

constexpr int64_t kLanes = 16;

TENON_AVX512 inline __m512i pairs_of(__m512 low, __m512 high) {
  const __m512i l = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(low));
  const __m512i h = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(high));
  return _mm512_or_si512(l, _mm512_slli_epi32(h, 16));
}

// A in words: (m, p) at data[m * row + p * column].
struct Words {
  const uint32_t* data;
  int64_t row, column;
};

TENON_AVX512 Words pack_rows(int64_t rows, int64_t depth, const RoundedView& a, uint32_t* room) {
  const int64_t width = (depth + 31) / 32 * 16;  // words of a row
  for (int64_t m = 0; m < rows; ++m) {
    for (int64_t k = 0; k < depth; k += kLanes) {
      const int64_t left = std::min(depth - k, kLanes);
      const __m512 x = _mm512_maskz_loadu_ps(static_cast<__mmask16>((1U << left) - 1), a.data + m * a.row + k);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(room + m * width + k / 2), (__m256i)_mm512_cvtneps_pbh(x));
    }
  }
  return {room, width, 1};
}

template <int R, int V>
TENON_AVX512 inline void tile(const Words& a, const uint32_t* b, int64_t b_row, int64_t pairs, float* c, int64_t c_row,
                              bool add) {
  __m512 sum[R][V];
#pragma GCC unroll 6
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) sum[r][v] = add ? _mm512_loadu_ps(c + r * c_row + v * kLanes) : _mm512_setzero_ps();
  }
  const uint32_t* words = a.data;
  for (int64_t p = 0; p < pairs; ++p, words += a.column, b += b_row) {
    __m512bh columns[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) columns[v] = (__m512bh)_mm512_loadu_si512(b + v * kLanes);
#pragma GCC unroll 6
    for (int r = 0; r < R; ++r) {
      const __m512bh x = (__m512bh)_mm512_set1_epi32(static_cast<int>(words[r * a.row]));
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) sum[r][v] = _mm512_dpbf16_ps(sum[r][v], x, columns[v]);
    }
  }
#pragma GCC unroll 6
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) _mm512_storeu_ps(c + r * c_row + v * kLanes, sum[r][v]);
  }
}

template <int V>
TENON_AVX512 void panel(int64_t rows, Words a, const uint32_t* b, int64_t b_row, int64_t pairs, float* c, int64_t c_row,
                        bool add) {
  for (; rows >= 6; rows -= 6, a.data += 6 * a.row, c += 6 * c_row) tile<6, V>(a, b, b_row, pairs, c, c_row, add);
  for (; rows >= 2; rows -= 2, a.data += 2 * a.row, c += 2 * c_row) tile<2, V>(a, b, b_row, pairs, c, c_row, add);
  if (rows == 1) tile<1, V>(a, b, b_row, pairs, c, c_row, add);
}

}  // namespace

TENON_AVX512 void pack_bf16_pairs(const float* from, int64_t row, int64_t depth, int64_t columns, uint32_t* to) {
  for (int64_t k = 0; k < depth; k += 2, from += 2 * row, to += columns) {
    for (int64_t c = 0; c < columns; c += kLanes) {
      const __m512 high = k + 1 < depth ? _mm512_loadu_ps(from + row + c) : _mm512_setzero_ps();
      _mm512_storeu_si512(to + c, pairs_of(_mm512_loadu_ps(from + c), high));
    }
  }
}

TENON_AVX512 void multiply_bf16(int64_t rows, int64_t columns, int64_t depth, const RoundedView& a, const uint32_t* b,
                                int64_t b_row, float* c, int64_t c_row, bool add, uint32_t* room) {
  Words words{room, 1, rows};
  if (a.column == 1) {
    words = pack_rows(rows, depth, a, room);
  } else {
    words.column = (rows + kLanes - 1) / kLanes * kLanes;
    pack_bf16_pairs(a.data, a.column, depth, words.column, room);
  }
  const int64_t pairs = (depth + 1) / 2;
  for (int64_t n = 0; n < columns;) {
    const int64_t vectors = std::min<int64_t>((columns - n) / kLanes, 4);
    if (vectors == 4) {
      panel<4>(rows, words, b + n, b_row, pairs, c + n, c_row, add);
    } else if (vectors == 3) {
      panel<3>(rows, words, b + n, b_row, pairs, c + n, c_row, add);
    } else if (vectors == 2) {
      panel<2>(rows, words, b + n, b_row, pairs, c + n, c_row, add);
    } else {
      panel<1>(rows, words, b + n, b_row, pairs, c + n, c_row, add);
    }
    n += vectors * kLanes;
  }
}

}  // namespace tenon

#else

namespace tenon {

void pack_bf16_pairs(const float*, int64_t, int64_t, int64_t, uint32_t*) { check(false, "no AVX512-BF16"); }
void multiply_bf16(int64_t, int64_t, int64_t, const RoundedView&, const uint32_t*, int64_t, float*, int64_t, bool,
                   uint32_t*) {
  check(false, "no AVX512-BF16");
}

}  // namespace tenon
#endif
