// Floating-point operations of a program, by what they are.
#pragma once

#include <cstdint>
#include <map>

#include "tenon/base/dtype.h"
#include "tenon/ir/trace.h"

namespace tenon {

// Multiplications and additions counted apart; a loop's body as often as it runs, of a `while` once; of a condition the
// dearer branch.
struct FlopCount {
  double total = 0;
  // Of contractions and convolutions, by the dtype of what is multiplied, before it was widened from 8-bit floats;
  // attention's are among them.
  std::map<DType, double> products;
  // Of attention ops, all pairs of queries and keys; and only the pairs that causality and windows leave. Boundaries of
  // documents aren't known before there is data.
  double attention = 0, attention_unmasked = 0;

  // The total with attention by its unmasked pairs.
  double total_unmasked() const { return total - attention + attention_unmasked; }
  // Of products alone, likewise.
  double all_products() const;
  double unmasked_products() const { return all_products() - attention + attention_unmasked; }
  FlopCount& add(const FlopCount& other, double times);
};

FlopCount count_flops_by_kind(const Trace& trace, RegionId region);

// Of num_queries x num_keys pairs, those that a causal mask and a window (0: none) leave; the last query is at the last
// key.
double unmasked_pairs(int64_t num_queries, int64_t num_keys, bool causal, int64_t window);

}  // namespace tenon
