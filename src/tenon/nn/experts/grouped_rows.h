// Rows brought together by group, and back, without a scatter in either direction; and products of them with a matrix a
// group.
#pragma once

#include "tenon/ir/tensor.h"

namespace tenon {

// Row source[g,s] of x[g] at place s, zeros where that isn't a row: x [G,N,D], source i32 [G,S] -> [G,S,D]. `targets`
// i32 [G,N,K] is the inverse, for the gradient: all places that row n goes to; numbers that are no place (S) fill up.
Tensor move_rows(const Tensor& x, const Tensor& source, const Tensor& targets);

// Rows x [M,R,D] in M blocks, block m of group groups[m] (i32 [M]): each times its group's matrix of weights [E,D,F] ->
// [M,R,F]. Memory grows with the rows, not with groups times rows; sums are in f32 or wider.
Tensor grouped_dot(const Tensor& x, const Tensor& weights, const Tensor& groups);

// Which of A assignments, sorted by group (stably: earlier ones first), are where. A row of `groups` (i32 [G,A]) is
// sorted by itself.
struct GroupOrder {
  Tensor order;   // i32 [G,A]: the assignments in the order of their groups
  Tensor rank;    // i32 [G,A]: how many earlier assignments have an assignment's group
  Tensor counts;  // i32 [G,E]: assignments of a group
  Tensor starts;  // i32 [G,E]: where in `order` a group starts
};
GroupOrder order_by_group(const Tensor& groups, int64_t num_groups);

}  // namespace tenon
