// Small matrix products in registers, of bf16 pairs with sums in f32: gemm-inl.h for machines with AVX512-BF16.
#pragma once

#include <cstdint>

namespace tenon {

// Rounds rows [depth, columns] of floats, `row` apart, to pairs of bf16 neighbours along depth: word (p, c) of
// to [(depth + 1) / 2, columns] holds (2p, c) and (2p + 1, c). Of an odd depth the last partner is 0. `columns` is a
// multiple of 16.
void pack_bf16_pairs(const float* from, int64_t row, int64_t depth, int64_t columns, uint32_t* to);

// Element (m, k) is at data[m * row + k * column], rounded to bf16 on use; one of row and column is 1.
struct RoundedView {
  const float* data;
  int64_t row, column;
};
// Words that multiply_bf16 needs for A.
constexpr int64_t bf16_room(int64_t rows, int64_t depth) { return (rows + 15) / 16 * 16 * ((depth + 31) / 32 * 16); }

// C [rows, columns] = or += A B, over `depth`: B packed as above, its words `b_row` apart; `columns` is a multiple
// of 16.
void multiply_bf16(int64_t rows, int64_t columns, int64_t depth, const RoundedView& a, const uint32_t* b, int64_t b_row,
                   float* c, int64_t c_row, bool add, uint32_t* room);

}  // namespace tenon
