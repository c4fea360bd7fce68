// Rules about where elements are.
#include <algorithm>
#include <optional>

#include "tenon/ir/ops/shape.h"
#include "tenon/passes/simplify.h"
#include "tenon/passes/splat.h"

namespace tenon {
namespace {

const TensorType& result_type(const Trace& trace, const OpInfo& op) { return trace.value(op.results[0]).type; }
bool all_zero(const Dims& values) {
  return std::ranges::all_of(values, [](int64_t v) { return v == 0; });
}

Tensor nothing_moves(Trace& trace, const OpInfo& op) {
  const Tensor x = operand(trace, op, 0);
  if (x.type() != result_type(trace, op)) return {};
  if (op.def->name == "transpose" && !std::ranges::is_sorted(op.attrs.dims("permutation"))) return {};
  const bool crops = op.def->name == "pad" && !(all_zero(op.attrs.dims("low")) && all_zero(op.attrs.dims("high")));
  return crops ? Tensor() : x;
}

Tensor whole_update(Trace& trace, const OpInfo& op) {
  const Tensor update = operand(trace, op, 1);
  return update.type() == result_type(trace, op) ? update : Tensor();
}

Tensor repeated_sharding(Trace& trace, const OpInfo& op) {
  const OpInfo* inner = maker(operand(trace, op, 0), "sharding_constraint");
  return inner != nullptr && inner->attrs == op.attrs ? operand(trace, op, 0) : Tensor();
}

Tensor move_of_splat(Trace& trace, const OpInfo& op) {
  const Dims& dims = result_type(trace, op).dims;
  if (op.def->name == "broadcast_in_dim" && operand(trace, op, 0).rank() == 0) return {};
  // Of a dynamic_slice the other operands only say where.
  const size_t count = op.def->name == "dynamic_slice" ? 1 : op.operands.size();
  const Tensor first = splat_scalar(operand(trace, op, 0));
  for (size_t i = 0; i < count; ++i) {
    if (!first || splat_scalar(operand(trace, op, i)) != first) return {};
  }
  return dims.empty() ? first : broadcast_in_dim(first, dims, {});
}

Tensor reshape_of_reshape(Trace& trace, const OpInfo& op) {
  const OpInfo* inner = maker(operand(trace, op, 0), "reshape");
  return inner == nullptr ? Tensor() : reshape(operand(trace, *inner, 0), op.attrs.dims("shape"));
}

Tensor transpose_of_transpose(Trace& trace, const OpInfo& op) {
  const OpInfo* inner = maker(operand(trace, op, 0), "transpose");
  if (inner == nullptr) return {};
  Dims both;
  for (const int64_t d : op.attrs.dims("permutation")) both.push_back(inner->attrs.dims("permutation")[as_size(d)]);
  return transpose(operand(trace, *inner, 0), both);
}

Tensor reverse_of_reverse(Trace& trace, const OpInfo& op) {
  const OpInfo* inner = maker(operand(trace, op, 0), "reverse");
  return inner != nullptr && inner->attrs == op.attrs ? operand(trace, *inner, 0) : Tensor();
}

Tensor broadcast_of_broadcast(Trace& trace, const OpInfo& op) {
  const OpInfo* inner = maker(operand(trace, op, 0), "broadcast_in_dim");
  if (inner == nullptr) return {};
  Dims dims;
  for (const int64_t d : inner->attrs.dims("dims")) dims.push_back(op.attrs.dims("dims")[as_size(d)]);
  return broadcast_in_dim(operand(trace, *inner, 0), op.attrs.dims("shape"), dims);
}

// Where each dimension of `x` is in `y`, which has the same and between them dimensions of size 1; empty where it isn't
// so.
std::optional<Dims> places_among_ones(const Dims& x, const Dims& y) {
  Dims out;
  for (size_t d = 0; d < y.size(); ++d) {
    if (out.size() < x.size() && x[out.size()] == y[d]) {
      out.push_back(static_cast<int64_t>(d));
    } else if (y[d] != 1) {
      return std::nullopt;
    }
  }
  return out.size() == x.size() ? std::optional(out) : std::nullopt;
}

Tensor broadcast_of_expanded(Trace& trace, const OpInfo& op) {
  const OpInfo* inner = maker(operand(trace, op, 0), "reshape");
  if (inner == nullptr) return {};
  const Tensor x = operand(trace, *inner, 0);
  const std::optional<Dims> places = places_among_ones(x.dims(), inner->attrs.dims("shape"));
  if (!places) return {};
  Dims dims;
  for (const int64_t d : *places) dims.push_back(op.attrs.dims("dims")[as_size(d)]);
  return broadcast_in_dim(x, op.attrs.dims("shape"), dims);
}

// A dimension lies where it did when as many elements lie behind it.
Tensor reshape_of_broadcast(Trace& trace, const OpInfo& op) {
  const OpInfo* inner = maker(operand(trace, op, 0), "broadcast_in_dim");
  const Dims& to = op.attrs.dims("shape");
  if (inner == nullptr || num_elements(to) == 0) return {};
  const Tensor x = operand(trace, *inner, 0);
  const Dims &from = inner->attrs.dims("shape"), behind = row_major_strides(from), new_behind = row_major_strides(to);
  Dims dims;
  for (const int64_t d : inner->attrs.dims("dims")) {
    if (x.dims()[dims.size()] == 1) return {};
    size_t place = 0;
    while (place < to.size() && (to[place] != from[as_size(d)] || new_behind[place] != behind[as_size(d)])) ++place;
    if (place == to.size()) return {};
    dims.push_back(static_cast<int64_t>(place));
  }
  return broadcast_in_dim(x, to, dims);
}

Tensor slice_of_slice(Trace& trace, const OpInfo& op) {
  const OpInfo* inner = maker(operand(trace, op, 0), "slice");
  if (inner == nullptr) return {};
  const Dims& sizes = result_type(trace, op).dims;
  Dims start, limit, strides;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int64_t by = inner->attrs.dims("strides")[d];
    start.push_back(inner->attrs.dims("start")[d] + op.attrs.dims("start")[d] * by);
    strides.push_back(op.attrs.dims("strides")[d] * by);
    limit.push_back(start[d] + (sizes[d] == 0 ? 0 : (sizes[d] - 1) * strides[d] + 1));
  }
  if (num_elements(sizes) == 0) return {};  // it may start behind the end
  return slice(operand(trace, *inner, 0), start, limit, strides);
}

// The operand of a concatenation in which the slice from `start` to `limit` lies, which become places in it; or empty.
Tensor piece_around(Trace& trace, const OpInfo& concatenation, Dims& start, Dims& limit) {
  const size_t dim = as_size(concatenation.attrs.integer("dim"));
  int64_t before = 0;
  for (size_t i = 0; i < concatenation.operands.size(); ++i) {
    const Tensor piece = operand(trace, concatenation, i);
    const int64_t size = piece.dims()[dim];
    if (start[dim] < before + size) {
      if (limit[dim] > before + size) return {};
      start[dim] -= before;
      limit[dim] -= before;
      return piece;
    }
    before += size;
  }
  return {};
}

// Through a concatenation of concatenations at once: each would be a rewriting of the one before.
Tensor slice_of_concatenate(Trace& trace, const OpInfo& op) {
  Dims start = op.attrs.dims("start"), limit = op.attrs.dims("limit");
  Tensor from;
  const OpInfo* inner = maker(operand(trace, op, 0), "concatenate");
  while (inner != nullptr) {
    const Tensor piece = piece_around(trace, *inner, start, limit);
    if (!piece) break;
    from = piece;
    inner = maker(piece, "concatenate");
  }
  return from ? slice(from, start, limit, op.attrs.dims("strides")) : Tensor();
}

// Neighbouring slices of one array, by step 1, that differ only along `dim`, as one; else empty.
Tensor joined(Trace& trace, const OpInfo& a, const OpInfo& b, size_t dim) {
  if (a.operands != b.operands || a.attrs.dims("strides") != b.attrs.dims("strides")) return {};
  if (std::ranges::any_of(a.attrs.dims("strides"), [](int64_t s) { return s != 1; })) return {};
  Dims start = b.attrs.dims("start"), limit = a.attrs.dims("limit");
  if (start[dim] != limit[dim]) return {};
  start[dim] = a.attrs.dims("start")[dim];
  limit[dim] = b.attrs.dims("limit")[dim];
  if (start != a.attrs.dims("start") || limit != b.attrs.dims("limit")) return {};
  return slice(operand(trace, a, 0), start, limit);
}

Tensor concatenate_of_neighbours(Trace& trace, const OpInfo& op) {
  const size_t dim = as_size(op.attrs.integer("dim"));
  std::vector<Tensor> pieces;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const Tensor piece = operand(trace, op, i);
    const OpInfo* here = maker(piece, "slice");
    const OpInfo* before = pieces.empty() ? nullptr : maker(pieces.back(), "slice");
    const Tensor both = here != nullptr && before != nullptr ? joined(trace, *before, *here, dim) : Tensor();
    if (both) {
      pieces.back() = both;
    } else if (piece.dims()[dim] > 0) {
      pieces.push_back(piece);
    }
  }
  return pieces.empty() || pieces.size() == op.operands.size() ? Tensor()
                                                               : concatenate(pieces, op.attrs.integer("dim"));
}

Tensor slice_at_constant(Trace& trace, const OpInfo& op) {
  const Tensor x = operand(trace, op, 0);
  const Dims& sizes = op.attrs.dims("sizes");
  Dims start, limit;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const Literal* at = splat_constant(operand(trace, op, d + 1));
    if (at == nullptr) return {};
    start.push_back(std::clamp<int64_t>(at->as_int(0), 0, x.dims()[d] - sizes[d]));
    limit.push_back(start[d] + sizes[d]);
  }
  return slice(x, start, limit);
}

}  // namespace

std::span<const SimplifyRule> shape_rules() {
  static const SimplifyRule rules[] = {
      {"nothing_moves", "a reshape, transpose, slice, pad, broadcast or conversion that changes nothing is its operand",
       "reshape,transpose,slice,pad,broadcast_in_dim,convert,bitcast,concatenate,dynamic_slice", nothing_moves},
      {"whole_update", "a dynamic_update_slice of the whole array is the update", "dynamic_update_slice", whole_update},
      {"repeated_sharding", "a sharding constraint on one that is the same is that one", "sharding_constraint",
       repeated_sharding},
      {"move_of_splat", "what moves elements that are all one scalar is a broadcast of the scalar",
       "reshape,transpose,slice,reverse,broadcast_in_dim,dynamic_slice,concatenate,pad", move_of_splat},
      {"reshape_of_reshape", "a reshape of a reshape is one reshape", "reshape", reshape_of_reshape},
      {"transpose_of_transpose", "a transpose of a transpose is one transpose, or none", "transpose",
       transpose_of_transpose},
      {"reverse_of_reverse", "reversing twice is nothing", "reverse", reverse_of_reverse},
      {"broadcast_of_broadcast", "a broadcast of a broadcast is one broadcast", "broadcast_in_dim",
       broadcast_of_broadcast},
      {"broadcast_of_expanded", "a broadcast adds the dimensions of size 1 that a reshape in front of it adds",
       "broadcast_in_dim", broadcast_of_expanded},
      {"reshape_of_broadcast",
       "a broadcast into other dimensions than those of its operand has the reshape's shape at once", "reshape",
       reshape_of_broadcast},
      {"slice_of_slice", "a slice of a slice is one slice", "slice", slice_of_slice},
      {"slice_of_concatenate", "a slice out of one piece of a concatenation is a slice of the piece", "slice",
       slice_of_concatenate},
      {"concatenate_of_neighbours", "neighbouring slices of one array are joined, empty pieces go", "concatenate",
       concatenate_of_neighbours},
      {"slice_at_constant", "a dynamic_slice at constant places is a slice", "dynamic_slice", slice_at_constant},
  };
  return rules;
}

}  // namespace tenon
