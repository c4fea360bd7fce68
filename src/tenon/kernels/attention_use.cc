#include "tenon/kernels/attention_use.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "tenon/ir/ops.h"

namespace tenon {
namespace {

int64_t round_up(int64_t x, int64_t multiple) { return (x + multiple - 1) / multiple * multiple; }

// With zeros up to these sizes.
Tensor pad_to(const Tensor& x, const Dims& dims) {
  Dims high = dims;
  for (size_t i = 0; i < dims.size(); ++i) high[i] -= x.dims()[i];
  return x.dims() == dims ? x : pad(x, zeros({x.dtype(), {}}), Dims(dims.size(), 0), high);
}

// [B,n] with the last of each row repeated.
Tensor repeat_last(const Tensor& x, int64_t length) {
  const int64_t n = x.dim(1);
  if (n == length) return x;
  const std::array<Tensor, 2> parts{x, broadcast_to(slice_dim(x, 1, n - 1, n), {x.dim(0), length - n})};
  return concatenate(parts, 1);
}

// Least and greatest of each block: [B,blocks].
struct Span {
  Tensor least, greatest;
};
Span span_of(const Tensor& x, int64_t block) {
  const Tensor blocks = reshape(x, {x.dim(0), -1, block});
  return {reduce_min(blocks, {-1}), reduce_max(blocks, {-1})};
}

// i1 [B, blocks of queries, blocks of keys]: may any query of the one see a key of the other?
Tensor may_see(const AttentionKernel& a, const BlockOperands& t) {
  const Dims dims{a.B, a.query_blocks(), a.key_blocks()};
  const auto query = [&](const Tensor& x) { return broadcast_to(expand_dims(x, 2), dims); };
  const auto key = [&](const Tensor& x) { return broadcast_to(expand_dims(x, 1), dims); };
  Tensor out = full({DType::i1, dims}, 1);
  const Span queries = span_of(t.query_positions, a.M), keys = span_of(t.key_positions, a.R);
  if (a.causal) out = logical_and(out, less_equal(key(keys.least), query(queries.greatest)));
  if (a.window > 0) {
    const Tensor end = keys.greatest + static_cast<double>(a.window);
    out = logical_and(out, greater(key(end), query(queries.least)));
  }
  if (a.segments) {
    const Span q = span_of(t.query_segments, a.M), k = span_of(t.key_segments, a.R);
    out = logical_and(out, less_equal(key(k.least), query(q.greatest)));
    out = logical_and(out, greater_equal(key(k.greatest), query(q.least)));
  }
  return out;
}

// Along dimension `dim` of i1 [B,x,y], from the first to the last that is set.
BlockRanges ranges(const Tensor& seen, int64_t dim) {
  const TensorType type{DType::i32, seen.dims()};
  const Tensor at = iota(type, dim);
  const Tensor end = reduce_max(select(seen, at + 1.0, zeros(type)), {dim});
  const Tensor first = reduce_min(select(seen, at, full(type, static_cast<double>(seen.dim(dim)))), {dim});
  return {minimum(first, end), end};
}

std::string layout(const TensorType& type) {
  Dims order;
  for (int64_t d = type.rank(); d-- > 0;) order.push_back(d);
  return fmt::format("dense<[{}]> : tensor<{}xindex>", fmt::join(order, ", "), order.size());
}

}  // namespace

AttentionKernel attention_kernel(const KernelUse& use, int64_t M, int64_t R, int64_t head_dim) {
  const Dims &q = use.operands[kQuery].dims, &k = use.operands[kKey].dims;
  AttentionKernel a;
  a.dtype = use.operands[kQuery].dtype;
  a.B = q[0], a.N = q[1], a.K = k[1], a.H = head_dim;
  a.M = M, a.R = R, a.T = round_up(q[2], M), a.S = round_up(k[2], R), a.num_keys = k[2];
  a.scale = use.attrs().number("scale"), a.logit_cap = use.attrs().number("logit_cap");
  a.causal = use.attrs().flag("causal"), a.segments = use.attrs().flag("segments");
  a.window = use.attrs().integer("window");
  return a;
}

BlockOperands block_operands(const AttentionKernel& a, const std::vector<Tensor>& t) {
  const Dims keys{a.B, a.K, a.S, a.H};
  return {pad_to(t[kQuery], {a.B, a.N, a.T, a.H}),
          pad_to(t[kKey], keys),
          pad_to(t[kValue], keys),
          repeat_last(t[kQueryPositions], a.T),
          repeat_last(t[kKeyPositions], a.S),
          repeat_last(t[kQuerySegments], a.T),
          repeat_last(t[kKeySegments], a.S)};
}

BlockCotangents block_cotangents(const AttentionKernel& a, const std::vector<Tensor>& t) {
  const Tensor products = convert(t[kContextCt], DType::f32) * convert(t[kContext], DType::f32);
  const Dims rows{a.B, a.N, a.T};
  return {pad_to(t[kContextCt], {a.B, a.N, a.T, a.H}), pad_to(t[kLse], rows),
          pad_to(reduce_sum(products, {-1}) - t[kLseCt], rows)};
}

Tensor without_padding(const Tensor& x, const TensorType& type) {
  if (x.dims() == type.dims) return x;
  return slice(x, Dims(type.dims.size(), 0), type.dims);
}

BlockRanges key_block_ranges(const AttentionKernel& a, const BlockOperands& operands) {
  return ranges(may_see(a, operands), 2);
}
BlockRanges query_block_ranges(const AttentionKernel& a, const BlockOperands& operands) {
  return ranges(may_see(a, operands), 1);
}

std::string row_major_layouts(const std::vector<Tensor>& operands, const std::vector<TensorType>& results) {
  std::vector<std::string> given, made;
  for (const Tensor& t : operands) given.push_back(layout(t.type()));
  for (const TensorType& type : results) made.push_back(layout(type));
  return fmt::format("operand_layouts = [{}], result_layouts = [{}]", fmt::join(given, ", "), fmt::join(made, ", "));
}

std::string quoted_attribute(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\{:02X}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace tenon
