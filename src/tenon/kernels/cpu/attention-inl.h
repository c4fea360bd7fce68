// Attention of one key-value head, for one SIMD target.
#if defined(TENON_KERNELS_CPU_ATTENTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_KERNELS_CPU_ATTENTION_INL_H_
#undef TENON_KERNELS_CPU_ATTENTION_INL_H_
#else
#define TENON_KERNELS_CPU_ATTENTION_INL_H_
#endif

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "tenon/kernels/cpu/attention_blocks.h"
#include "tenon/kernels/cpu/dot.h"
#include "tenon/kernels/cpu/gemm-inl.h"
#include "tenon/kernels/cpu/gemm_bf16.h"
#include "tenon/kernels/cpu/scratch.h"

HWY_BEFORE_NAMESPACE();
namespace tenon {
namespace HWY_NAMESPACE {

inline constexpr int64_t kQueryBlock = 48, kKeyBlock = 64;  // rows and columns of a block of weights
inline constexpr float kMasked = -1e30f;

HWY_INLINE float to_float(float x) { return x; }
HWY_INLINE float to_float(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float out;
  std::memcpy(&out, &wide, sizeof(out));
  return out;
}
HWY_INLINE void from_float(float x, float& out) { out = x; }
// To nearest even; NaN stays NaN.
HWY_INLINE void from_float(float x, uint16_t& out) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  out = static_cast<uint16_t>(std::isnan(x) ? (bits >> 16) | 0x40U : (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

constexpr int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// One key-value head of one example; E is the type of an element (uint16_t: bf16).
template <class E>
class Head {
 public:
  Head(const AttentionShape& s, const AttentionPlaces& places, int64_t b, int64_t k)
      : s_(s),
        b_(b),
        k_(k),
        group_(s.N / s.K),
        padded_H_(round_up(s.H, kLanes)),
        padded_S_(round_up(s.S, kKeyBlock)),
        key_blocks_(padded_S_ / kKeyBlock),
        query_positions_(places.query_positions + b * s.T),
        key_positions_(places.key_positions + b * s.S),
        query_segments_(places.query_segments + b * s.T),
        key_segments_(places.key_segments + b * s.S),
        native_(std::is_same_v<E, uint16_t> && kLanes == 16 && has_dot()) {
    for (int64_t j = 0; j < s.S; j += kKeyBlock) {
      key_ranges_.push_back(range_of(key_positions_ + j, key_segments_ + j, std::min(kKeyBlock, s.S - j)));
    }
  }

  void forward(const AttentionForward& a, int64_t first_query, int64_t last_query) {
    Scratch scratch(static_cast<size_t>(padded_S_ * (s_.H + padded_H_) + kQueryBlock * (s_.H + kKeyBlock + padded_H_) +
                                        packed(s_.H, padded_S_) + packed(padded_S_, padded_H_) + room()),
                    8);
    float* keys = take(scratch, padded_S_ * s_.H);
    float* values = take(scratch, padded_S_ * padded_H_);
    float *query = take(scratch, kQueryBlock * s_.H), *weights = take(scratch, kQueryBlock * kKeyBlock),
          *sums = take(scratch, kQueryBlock * padded_H_);
    pack_transposed(a.key, keys);
    pack_rows(static_cast<const E*>(a.value) + key_offset(), s_.key.token, s_.S, padded_S_, values);
    const Factor keys_of = factor(scratch, keys, s_.H, padded_S_),
                 values_of = factor(scratch, values, padded_S_, padded_H_);
    room_ = words(scratch, room());
    for (int64_t g = 0; g < group_; ++g) {
      const int64_t n = k_ * group_ + g;
      const E* queries = static_cast<const E*>(a.query) + query_offset(n);
      E* contexts = static_cast<E*>(a.context) + query_offset(n);
      float* lse = a.lse + (b_ * s_.N + n) * s_.T;
      for (int64_t i = first_query; i < last_query; i += kQueryBlock) {
        const int64_t rows = std::min(kQueryBlock, last_query - i);
        copy_rows(queries + i * s_.query.token, s_.query.token, rows, s_.H, query);
        forward_block(i, rows, keys_of, values_of, query, weights, sums, contexts + i * s_.query.token, lse + i);
      }
    }
  }

  void backward(const AttentionBackward& a) {
    const int64_t whole = padded_S_ * padded_H_, block = kQueryBlock * padded_H_;
    Scratch scratch(static_cast<size_t>(2 * padded_S_ * s_.H + 3 * whole + 3 * block + 2 * kQueryBlock * kKeyBlock +
                                        2 * packed(s_.H, padded_S_) + packed(padded_S_, padded_H_) +
                                        2 * packed(kQueryBlock, padded_H_) + room()),
                    16);
    float *keys_t = take(scratch, padded_S_ * s_.H), *values_t = take(scratch, padded_S_ * s_.H),
          *keys = take(scratch, whole);
    pack_transposed(a.key, keys_t);
    pack_transposed(a.value, values_t);
    pack_rows(static_cast<const E*>(a.key) + key_offset(), s_.key.token, s_.S, padded_S_, keys);
    Backward w{factor(scratch, keys_t, s_.H, padded_S_),
               factor(scratch, values_t, s_.H, padded_S_),
               factor(scratch, keys, padded_S_, padded_H_),
               take(scratch, whole),
               take(scratch, whole),
               take(scratch, block),
               take(scratch, block),
               take(scratch, block),
               take(scratch, kQueryBlock * kKeyBlock),
               take(scratch, kQueryBlock * kKeyBlock),
               words(scratch, packed(kQueryBlock, padded_H_)),
               words(scratch, packed(kQueryBlock, padded_H_))};
    room_ = words(scratch, room());
    std::memset(w.key_ct, 0, static_cast<size_t>(whole) * sizeof(float));
    std::memset(w.value_ct, 0, static_cast<size_t>(whole) * sizeof(float));
    for (int64_t g = 0; g < group_; ++g) {
      for (int64_t i = 0; i < s_.T; i += kQueryBlock)
        backward_block(a, w, k_ * group_ + g, i, std::min(kQueryBlock, s_.T - i));
    }
    store_rows(w.key_ct, s_.S, static_cast<float>(s_.scale), static_cast<E*>(a.key_cotangent) + key_offset(),
               s_.key.token);
    store_rows(w.value_ct, s_.S, 1, static_cast<E*>(a.value_cotangent) + key_offset(), s_.key.token);
  }

 private:
  // The right side of products, [depth, columns]: as floats, and for native bf16 as pairs along depth.
  struct Factor {
    const float* floats;
    const uint32_t* pairs;
    int64_t columns;
    // From a row and a column on; rows in twos.
    Factor at(int64_t row, int64_t column) const {
      return {floats + row * columns + column, pairs == nullptr ? nullptr : pairs + row / 2 * columns + column,
              columns};
    }
  };
  struct Backward {
    Factor keys_t, values_t, keys;
    float *key_ct, *value_ct;              // [S,H]
    float *query, *context_ct, *query_ct;  // [kQueryBlock,H]
    float *weights, *change;               // [kQueryBlock,kKeyBlock]
    uint32_t *query_pairs, *context_ct_pairs;
  };

  // Words that a factor packed as pairs takes, and those of the left side of the largest product.
  int64_t packed(int64_t depth, int64_t columns) const { return native_ ? (depth + 1) / 2 * columns : 0; }
  int64_t room() const { return native_ ? bf16_room(kKeyBlock, std::max(padded_H_, kKeyBlock)) : 0; }
  static uint32_t* words(Scratch& scratch, int64_t count) { return reinterpret_cast<uint32_t*>(take(scratch, count)); }

  Factor factor(Scratch& scratch, const float* from, int64_t depth, int64_t columns) const {
    return native_ ? repack(from, depth, columns, words(scratch, packed(depth, columns)))
                   : Factor{from, nullptr, columns};
  }
  Factor repack(const float* from, int64_t depth, int64_t columns, uint32_t* to) const {
    if (native_) pack_bf16_pairs(from, columns, depth, columns, to);
    return {from, native_ ? to : nullptr, columns};
  }
  template <bool kAdd>
  HWY_INLINE void product(int64_t rows, int64_t columns, int64_t depth, const MatrixView& a, const Factor& b, float* c,
                          int64_t c_row) const {
    if (native_) {
      multiply_bf16(rows, columns, depth, {a.data, static_cast<int64_t>(a.row), static_cast<int64_t>(a.column)},
                    b.pairs, b.columns, c, c_row, kAdd, room_);
    } else {
      multiply<kAdd>(z(rows), z(columns), z(depth), a, b.floats, z(b.columns), c, z(c_row));
    }
  }

  static float* take(Scratch& scratch, int64_t count) { return scratch.take(static_cast<size_t>(count)); }
  int64_t query_offset(int64_t n) const { return b_ * s_.query.batch + n * s_.query.head; }
  int64_t key_offset() const { return b_ * s_.key.batch + k_ * s_.key.head; }

  // `rows` rows of H elements as rows of `width` floats; the rest of each is 0.
  void copy_rows(const E* from, int64_t stride, int64_t rows, int64_t width, float* to) const {
    for (int64_t r = 0; r < rows; ++r, from += stride, to += width) {
      for (int64_t h = 0; h < s_.H; ++h) to[h] = to_float(from[h]);
      for (int64_t h = s_.H; h < width; ++h) to[h] = 0;
    }
  }
  void pack_rows(const E* from, int64_t stride, int64_t rows, int64_t padded_rows, float* to) const {
    copy_rows(from, stride, rows, padded_H_, to);
    std::memset(to + rows * padded_H_, 0, static_cast<size_t>((padded_rows - rows) * padded_H_) * sizeof(float));
  }
  // [S,H] as [H,padded_S].
  void pack_transposed(const void* array, float* to) const {
    const E* from = static_cast<const E*>(array) + key_offset();
    for (int64_t j = 0; j < s_.S; j += 16) {
      const int64_t end = std::min(j + 16, s_.S);
      for (int64_t h = 0; h < s_.H; ++h) {
        for (int64_t s = j; s < end; ++s) to[h * padded_S_ + s] = to_float(from[s * s_.key.token + h]);
      }
    }
    for (int64_t h = 0; h < s_.H; ++h) {
      for (int64_t s = s_.S; s < padded_S_; ++s) to[h * padded_S_ + s] = 0;
    }
  }
  void store_rows(const float* from, int64_t rows, float scale, E* to, int64_t stride) const {
    for (int64_t r = 0; r < rows; ++r, from += padded_H_, to += stride) {
      for (int64_t h = 0; h < s_.H; ++h) from_float(from[h] * scale, to[h]);
    }
  }

  // Columns of block j that hold keys, and those a product computes.
  int64_t columns(int64_t j) const { return std::min(kKeyBlock, s_.S - j * kKeyBlock); }
  int64_t padded_columns(int64_t j) const { return round_up(columns(j), kLanes); }

  Sight sight_of(const PlaceRange& queries, int64_t j) const {
    const Sight seen = sight(s_, queries, key_ranges_[static_cast<size_t>(j)]);
    return seen == Sight::all && columns(j) != padded_columns(j) ? Sight::some : seen;
  }

  // Products -> logits.
  HWY_INLINE FloatVector logits_of(FloatVector x) const {
    const FloatTag d;
    x = hn::Mul(x, hn::Set(d, static_cast<float>(s_.scale)));
    if (s_.logit_cap <= 0) return x;
    const auto limit = static_cast<float>(s_.logit_cap);
    return hn::Mul(tanh_of(hn::Mul(x, hn::Set(d, 1 / limit))), hn::Set(d, limit));
  }

  // Which of kLanes keys from column `c` of block `j` query `t` sees.
  HWY_INLINE hn::Mask<FloatTag> visible(int64_t t, int64_t j, int64_t c) const {
    const FloatTag d;
    const hn::RebindToSigned<FloatTag> di;
    const int64_t first = j * kKeyBlock + c;
    const auto load = [&](const int32_t* from) {
      if (first + static_cast<int64_t>(kLanes) <= s_.S) return hn::LoadU(di, from + first);
      HWY_ALIGN int32_t padded[kLanes] = {};
      for (int64_t i = first; i < s_.S; ++i) padded[i - first] = from[i];
      return hn::Load(di, padded);
    };
    const auto column = hn::Iota(di, static_cast<int32_t>(first));
    auto seen = hn::Lt(column, hn::Set(di, static_cast<int32_t>(s_.S)));
    if (s_.causal) seen = hn::AndNot(hn::Gt(load(key_positions_), hn::Set(di, query_positions_[t])), seen);
    if (s_.window > 0) {
      const int64_t oldest = std::max<int64_t>(query_positions_[t] - s_.window, std::numeric_limits<int32_t>::min());
      const auto after = hn::Gt(load(key_positions_), hn::Set(di, static_cast<int32_t>(oldest)));
      if (query_positions_[t] - s_.window >= std::numeric_limits<int32_t>::min()) seen = hn::And(seen, after);
    }
    if (s_.segments) seen = hn::And(seen, hn::Eq(load(key_segments_), hn::Set(di, query_segments_[t])));
    return hn::RebindMask(d, seen);
  }

  void forward_block(int64_t i, int64_t rows, const Factor& keys, const Factor& values, const float* query,
                     float* weights, float* sums, E* contexts, float* lse) const {
    const PlaceRange queries = range_of(query_positions_ + i, query_segments_ + i, rows);
    float top[kQueryBlock], total[kQueryBlock];
    std::fill_n(top, rows, kMasked);
    std::fill_n(total, rows, 0.0f);
    std::memset(sums, 0, static_cast<size_t>(rows * padded_H_) * sizeof(float));
    for (int64_t j = 0; j < key_blocks_; ++j) {
      const Sight seen = sight_of(queries, j);
      if (seen == Sight::none) continue;
      const int64_t width = padded_columns(j);
      product<false>(rows, width, s_.H, {query, z(s_.H), 1}, keys.at(0, j * kKeyBlock), weights, kKeyBlock);
      for (int64_t r = 0; r < rows; ++r) {
        softmax_row(i + r, j, seen, width, weights + r * kKeyBlock, top[r], total[r], sums + r * padded_H_);
      }
      product<true>(rows, padded_H_, width, {weights, kKeyBlock, 1}, values.at(j * kKeyBlock, 0), sums, padded_H_);
    }
    for (int64_t r = 0; r < rows; ++r) {
      store_rows(sums + r * padded_H_, 1, total[r] == 0 ? 0.0f : 1 / total[r], contexts + r * s_.query.token, 0);
      lse[r] = top[r] + std::log(total[r]);
    }
  }

  // Products of a query with a block of keys -> weights relative to the row's greatest logit so far.
  HWY_INLINE void softmax_row(int64_t t, int64_t j, Sight seen, int64_t width, float* row, float& top, float& total,
                              float* sums) const {
    const FloatTag d;
    FloatVector greatest = hn::Set(d, top);
    for (int64_t c = 0; c < width; c += kLanes) {
      FloatVector x = logits_of(hn::Load(d, row + c));
      if (seen == Sight::some) x = hn::IfThenElse(visible(t, j, c), x, hn::Set(d, kMasked));
      hn::Store(x, d, row + c);
      greatest = hn::Max(greatest, x);
    }
    const float before = top;
    top = hn::GetLane(hn::MaxOfLanes(d, greatest));
    const FloatVector new_top = hn::Set(d, top), masked = hn::Set(d, kMasked);
    FloatVector sum = hn::Zero(d);
    for (int64_t c = 0; c < width; c += kLanes) {
      const FloatVector x = hn::Load(d, row + c);
      FloatVector weight = exp_of(hn::Sub(x, new_top));
      if (seen == Sight::some) weight = hn::IfThenZeroElse(hn::Eq(x, masked), weight);
      hn::Store(weight, d, row + c);
      sum = hn::Add(sum, weight);
    }
    const float more = hn::GetLane(hn::SumOfLanes(d, sum));
    if (top == before) {
      total += more;
      return;
    }
    const float rescale = std::exp(before - top);
    total = total * rescale + more;
    const FloatVector factor = hn::Set(d, rescale);
    for (int64_t h = 0; h < padded_H_; h += kLanes) hn::Store(hn::Mul(hn::Load(d, sums + h), factor), d, sums + h);
  }

  void backward_block(const AttentionBackward& a, const Backward& w, int64_t n, int64_t i, int64_t rows) const {
    const PlaceRange queries = range_of(query_positions_ + i, query_segments_ + i, rows);
    const int64_t offset = query_offset(n) + i * s_.query.token, stride = s_.query.token,
                  row_offset = (b_ * s_.N + n) * s_.T + i;
    const E* context = static_cast<const E*>(a.context) + offset;
    copy_rows(static_cast<const E*>(a.query) + offset, stride, rows, padded_H_, w.query);
    copy_rows(static_cast<const E*>(a.context_cotangent) + offset, stride, rows, padded_H_, w.context_ct);
    std::memset(w.query_ct, 0, static_cast<size_t>(rows * padded_H_) * sizeof(float));
    float delta[kQueryBlock];
    for (int64_t r = 0; r < rows; ++r) {
      float sum = 0;
      for (int64_t h = 0; h < s_.H; ++h) sum += to_float(context[r * stride + h]) * w.context_ct[r * padded_H_ + h];
      delta[r] = sum - a.lse_cotangent[row_offset + r];
    }
    const size_t row = z(padded_H_);
    const Factor query = repack(w.query, rows, padded_H_, w.query_pairs),
                 context_ct = repack(w.context_ct, rows, padded_H_, w.context_ct_pairs);
    for (int64_t j = 0; j < key_blocks_; ++j) {
      const Sight seen = sight_of(queries, j);
      if (seen == Sight::none) continue;
      const int64_t width = padded_columns(j), first = j * kKeyBlock;
      product<false>(rows, width, s_.H, {w.query, row, 1}, w.keys_t.at(0, first), w.weights, kKeyBlock);
      product<false>(rows, width, s_.H, {w.context_ct, row, 1}, w.values_t.at(0, first), w.change, kKeyBlock);
      for (int64_t r = 0; r < rows; ++r) {
        backward_row(i + r, j, seen, width, a.lse[row_offset + r], delta[r], w.weights + r * kKeyBlock,
                     w.change + r * kKeyBlock);
      }
      float *value_ct = w.value_ct + first * padded_H_, *key_ct = w.key_ct + first * padded_H_;
      product<true>(width, padded_H_, rows, {w.weights, 1, kKeyBlock}, context_ct, value_ct, padded_H_);
      product<true>(width, padded_H_, rows, {w.change, 1, kKeyBlock}, query, key_ct, padded_H_);
      product<true>(rows, padded_H_, width, {w.change, kKeyBlock, 1}, w.keys.at(first, 0), w.query_ct, padded_H_);
    }
    store_rows(w.query_ct, rows, static_cast<float>(s_.scale), static_cast<E*>(a.query_cotangent) + offset, stride);
  }

  // Products of a query with keys, and of its context's cotangent with values -> weights, and cotangents of the scaled
  // products.
  HWY_INLINE void backward_row(int64_t t, int64_t j, Sight seen, int64_t width, float lse, float delta, float* weights,
                               float* change) const {
    const FloatTag d;
    const FloatVector log_sum = hn::Set(d, lse), shift = hn::Set(d, delta), one = hn::Set(d, 1.0f);
    const auto per_cap = static_cast<float>(s_.logit_cap > 0 ? 1 / s_.logit_cap : 0);
    for (int64_t c = 0; c < width; c += kLanes) {
      const FloatVector logits = logits_of(hn::Load(d, weights + c));
      FloatVector weight = exp_of(hn::Sub(logits, log_sum));
      if (seen == Sight::some) weight = hn::IfThenElseZero(visible(t, j, c), weight);
      FloatVector ct = hn::Mul(weight, hn::Sub(hn::Load(d, change + c), shift));
      if (s_.logit_cap > 0) {
        const FloatVector share = hn::Mul(logits, hn::Set(d, per_cap));
        ct = hn::Mul(ct, hn::NegMulAdd(share, share, one));
      }
      hn::Store(weight, d, weights + c);
      hn::Store(ct, d, change + c);
    }
  }

  static size_t z(int64_t n) { return static_cast<size_t>(n); }

  const AttentionShape& s_;
  int64_t b_, k_, group_, padded_H_, padded_S_, key_blocks_;
  const int32_t *query_positions_, *key_positions_, *query_segments_, *key_segments_;
  std::vector<PlaceRange> key_ranges_;
  const bool native_;  // products by the instructions for bf16
  uint32_t* room_ = nullptr;
};

}  // namespace HWY_NAMESPACE
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#endif
