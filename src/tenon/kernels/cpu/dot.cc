#include "tenon/kernels/cpu/dot.h"

#include <algorithm>
#include <cstring>

#include "tenon/base/error.h"

#if defined(__x86_64__)
#include <immintrin.h>

// Operands are packed into panels of columns. A word of 32 bits is what an instruction takes of one column: a float, or
// a pair of bf16 neighbours along K. Where these lie side by side, words of the left side are taken from where they
// are.
namespace tenon {
namespace {

#define TENON_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))

constexpr int64_t kLanes = 16, kRows = 8, kColumns = 3 * kLanes;
constexpr int64_t kTaskRows = 64, kTaskColumns = 8 * kColumns;
constexpr int64_t kPackWords = 64, kPackStep = 4;
constexpr int64_t kWords = 1024;  // a panel of so many stays in the second cache

int64_t pieces(int64_t n, int64_t size) { return (n + size - 1) / size; }
__mmask16 first_lanes(int64_t n) {
  return static_cast<__mmask16>(n >= kLanes ? 0xFFFF : (1 << std::max<int64_t>(n, 0)) - 1);
}

// An operand: `columns` columns of `depth` elements along K.
template <class E>
struct Operand {
  static constexpr int64_t kPerWord = 4 / sizeof(E);
  const E* data;
  bool by_depth;  // [depth, columns], not [columns, depth]
  int64_t columns, depth;
  int64_t words() const { return pieces(depth, kPerWord); }
};

// Word w of columns [c, c + 16). Nothing is read outside of the operand; what would lie there is 0.
TENON_AVX512 inline __m512i words_at(const Operand<float>& x, int64_t c, int64_t w) {
  const __mmask16 mask = first_lanes(x.columns - c);
  if (x.by_depth) return _mm512_castps_si512(_mm512_maskz_loadu_ps(mask, x.data + w * x.columns + c));
  alignas(64) float words[kLanes] = {};
  const int64_t live = std::min(kLanes, x.columns - c);
  for (int64_t i = 0; i < live; ++i) words[i] = x.data[(c + i) * x.depth + w];
  return _mm512_castps_si512(_mm512_load_ps(words));
}
TENON_AVX512 inline __m512i words_at(const Operand<uint16_t>& x, int64_t c, int64_t w) {
  const __mmask16 mask = first_lanes(x.columns - c);
  const bool odd_end = 2 * w + 1 == x.depth;
  if (x.by_depth) {
    const uint16_t* row = x.data + 2 * w * x.columns + c;
    const __m512i low = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, row));
    if (odd_end) return low;
    const __m512i high = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, row + x.columns));
    return _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
  }
  alignas(64) uint32_t words[kLanes] = {};
  const int64_t live = std::min(kLanes, x.columns - c);
  for (int64_t i = 0; i < live; ++i) {
    const uint16_t* at = x.data + (c + i) * x.depth + 2 * w;
    words[i] = at[0] | (odd_end ? 0U : static_cast<uint32_t>(at[1]) << 16);
  }
  return _mm512_load_si512(words);
}

// r[i] holds 16 words of column i -> r[i] holds word i of 16 columns.
TENON_AVX512 inline void transpose(__m512i (&r)[kLanes]) {
  __m512i t[kLanes];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0xDD);
    t[i + 8] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0xDD);
  }
  for (int i = 0; i < 4; ++i) {
    r[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
    r[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xDD);
    r[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
    r[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xDD);
  }
}

// Packs words [w, end) of 16 columns from c: word 0 of all lies at `to`, word 1 at to + width. With `second`, the last
// 8 columns lie there instead.
template <class E>
TENON_AVX512 void pack_vector(const Operand<E>& x, int64_t c, int64_t w, int64_t end, uint32_t* to, int64_t width,
                              uint32_t* second) {
  const auto store = [&](int64_t at, __m512i v) TENON_AVX512 {
    if (second == nullptr) return _mm512_storeu_si512(to + at * width, v);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + at * width), _mm512_castsi512_si256(v));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(second + at * width), _mm512_extracti64x4_epi64(v, 1));
  };
  if (!x.by_depth && c + kLanes <= x.columns) {
    for (; w + kLanes <= end && (w + kLanes) * x.kPerWord <= x.depth; w += kLanes) {
      __m512i r[kLanes];
      for (int64_t i = 0; i < kLanes; ++i) r[i] = _mm512_loadu_si512(x.data + (c + i) * x.depth + w * x.kPerWord);
      transpose(r);
      for (int64_t i = 0; i < kLanes; ++i) store(w + i, r[i]);
    }
  }
  for (; w < end; ++w) store(w, words_at(x, c, w));
}

// 8 rows of words: those of a panel, or each row where it is.
struct Panel {
  const uint32_t* words;
  TENON_AVX512 __m512i at(int64_t w, int r) const { return _mm512_set1_epi32(static_cast<int>(words[w * kRows + r])); }
};
template <class E>
struct InPlace {
  const E* rows[kRows];
  TENON_AVX512 __m512i at(int64_t w, int r) const {
    int word;
    std::memcpy(&word, rows[r] + w * Operand<E>::kPerWord, sizeof(word));
    return _mm512_set1_epi32(word);
  }
};

TENON_AVX512 inline __m512 multiply_add(float, __m512i a, __m512i b, __m512 c) {
  return _mm512_fmadd_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), c);
}
TENON_AVX512 inline __m512 multiply_add(uint16_t, __m512i a, __m512i b, __m512 c) {
  return _mm512_dpbf16_ps(c, (__m512bh)a, (__m512bh)b);
}

// 8 rows and V vectors of the result.
template <class E, class Rows, int V>
TENON_AVX512 inline void add_products(const Rows& a, const uint32_t* b, int64_t words, __m512 (&sum)[kRows][V]) {
  for (int64_t w = 0; w < words; ++w, b += V * kLanes) {
    __m512i columns[V];
#pragma GCC unroll 3
    for (int v = 0; v < V; ++v) columns[v] = _mm512_loadu_si512(b + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const __m512i x = a.at(w, r);
#pragma GCC unroll 3
      for (int v = 0; v < V; ++v) sum[r][v] = multiply_add(E(), x, columns[v], sum[r][v]);
    }
  }
}

template <class E>
class Dot {
 public:
  Dot(const DotShape& s, const DotArrays& arrays)
      : s_(s),
        lhs_{static_cast<const E*>(arrays.lhs), s.lhs_by_depth, s.M, s.K},
        rhs_{static_cast<const E*>(arrays.rhs), s.rhs_by_depth, s.N, s.K},
        result_(arrays.result),
        words_(lhs_.words()),
        a_(in_place(s) ? nullptr : arrays.scratch),
        b_(arrays.scratch + packed_lhs(s)) {}

  static int64_t scratch_words(const DotShape& s) { return packed_lhs(s) + packed({nullptr, false, s.N, s.K}); }

  int64_t packs() const { return packs_of_lhs() + packs_of(rhs_); }
  void pack(int64_t i) const {
    const bool lhs = i < packs_of_lhs();
    const Operand<E>& x = lhs ? lhs_ : rhs_;
    const int64_t part = lhs ? i : i - packs_of_lhs();
    const int64_t start = x.by_depth ? 0 : part * kColumns, first = x.by_depth ? part * kPackWords : 0;
    const int64_t end = x.by_depth ? x.columns : std::min(start + kColumns, x.columns);
    const int64_t last = x.by_depth ? std::min(first + kPackWords, words_) : words_;
    const int64_t step = x.by_depth ? kPackStep : words_;
    for (int64_t w = first; w < last; w += step) {
      for (int64_t c = start; c < end; c += kLanes) {
        if (lhs) {
          uint32_t* to = a_ + c * words_;
          pack_vector(x, c, w, std::min(w + step, last), to, kRows, to + kRows * words_);
        } else {
          const int64_t panel = c / kColumns * kColumns;
          pack_vector(x, c, w, std::min(w + step, last), b_ + panel * words_ + c - panel, width(panel), nullptr);
        }
      }
    }
  }

  int64_t tasks() const { return pieces(s_.M, kTaskRows) * pieces(s_.N, kTaskColumns); }
  void compute(int64_t task) const {
    const int64_t across = pieces(s_.N, kTaskColumns);
    const int64_t m = task / across * kTaskRows, n = task % across * kTaskColumns;
    const int64_t step = s_.result == Element::f32 ? kWords : words_;  // sums of parts are kept in the result itself
    for (int64_t column = n; column < std::min(n + kTaskColumns, s_.N); column += kColumns) {
      for (int64_t w = 0; w < words_; w += step) {
        const int64_t vectors = width(column) / kLanes, words = std::min(step, words_ - w);
        for (int64_t row = m; row < std::min(m + kTaskRows, s_.M); row += kRows) {
          if (vectors == 3) {
            tile<3>(row, column, w, words);
          } else if (vectors == 2) {
            tile<2>(row, column, w, words);
          } else {
            tile<1>(row, column, w, words);
          }
        }
      }
    }
  }

 private:
  static int64_t packed_lhs(const DotShape& s) { return in_place(s) ? 0 : packed({nullptr, false, s.M, s.K}); }
  // One packs a panel, or of an operand by depth so many rows of it: what lies together is read together.
  int64_t packs_of(const Operand<E>& x) const {
    return x.by_depth ? pieces(words_, kPackWords) : pieces(x.columns, kColumns);
  }
  int64_t packs_of_lhs() const { return a_ == nullptr ? 0 : packs_of(lhs_); }
  // An odd end would need a zero after it.
  static bool in_place(const DotShape& s) { return !s.lhs_by_depth && s.K % Operand<E>::kPerWord == 0; }
  static int64_t packed(const Operand<E>& x) { return pieces(x.columns, kLanes) * kLanes * x.words(); }
  // Columns of the panel that starts at `column`: the last is as narrow as whole vectors let it be.
  int64_t width(int64_t column) const { return std::min(kColumns, pieces(s_.N - column, kLanes) * kLanes); }

  // Adds `words` words from w on to a tile of the result, which starts at 0.
  template <int V>
  TENON_AVX512 void tile(int64_t row, int64_t column, int64_t w, int64_t words) const {
    const int64_t rows = std::min(kRows, s_.M - row);
    __mmask16 mask[V];
    for (int v = 0; v < V; ++v) mask[v] = first_lanes(s_.N - column - v * kLanes);
    __m512 sum[kRows][V];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
      for (int v = 0; v < V; ++v) {
        sum[r][v] = _mm512_setzero_ps();
        if (w == 0 || r >= rows) continue;
        const int64_t at = (row + r) * s_.N + column + v * kLanes;
        sum[r][v] = _mm512_maskz_loadu_ps(mask[v], static_cast<const float*>(result_) + at);
      }
    }
    const uint32_t* b = b_ + column * words_ + w * V * kLanes;
    if (a_ != nullptr) {
      add_products<E>(Panel{a_ + row * words_ + w * kRows}, b, words, sum);
    } else {
      InPlace<E> a;
      for (int r = 0; r < kRows; ++r) {
        a.rows[r] = lhs_.data + std::min(row + r, s_.M - 1) * s_.K + w * Operand<E>::kPerWord;
      }
      add_products<E>(a, b, words, sum);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      if (r >= rows) break;
#pragma GCC unroll 3
      for (int v = 0; v < V; ++v) store((row + r) * s_.N + column + v * kLanes, mask[v], sum[r][v]);
    }
  }
  TENON_AVX512 void store(int64_t at, __mmask16 mask, __m512 x) const {
    if (s_.result == Element::f32) {
      _mm512_mask_storeu_ps(static_cast<float*>(result_) + at, mask, x);
    } else {
      _mm256_mask_storeu_epi16(static_cast<uint16_t*>(result_) + at, mask, (__m256i)_mm512_cvtneps_pbh(x));
    }
  }

  const DotShape& s_;
  Operand<E> lhs_, rhs_;
  void* result_;
  int64_t words_;
  uint32_t *a_, *b_;
};

template <class E>
void run(const DotShape& s, const DotArrays& arrays, const Workers& workers) {
  const Dot<E> dot(s, arrays);
  parallel_for(workers, dot.packs(), [&](int64_t i) { dot.pack(i); });
  parallel_for(workers, dot.tasks(), [&](int64_t i) { dot.compute(i); });
}

}  // namespace

bool has_dot() { return __builtin_cpu_supports("avx512bf16") != 0; }

int64_t dot_scratch_words(const DotShape& s) {
  return s.operands == Element::f32 ? Dot<float>::scratch_words(s) : Dot<uint16_t>::scratch_words(s);
}

void dot(const DotShape& s, const DotArrays& arrays, const Workers& workers) {
  check(has_dot(), "a dot without its instructions");
  check(s.K > 0, "a dot over nothing");
  if (s.operands == Element::f32) {
    run<float>(s, arrays, workers);
  } else {
    run<uint16_t>(s, arrays, workers);
  }
}

}  // namespace tenon

#else

namespace tenon {

bool has_dot() { return false; }
int64_t dot_scratch_words(const DotShape&) { return 0; }
void dot(const DotShape&, const DotArrays&, const Workers&) { check(false, "a dot without its instructions"); }

}  // namespace tenon
#endif
