#include "tenon/kernels/cuda/triton_attention_text.h"

#include "tenon/kernels/cuda/triton_builder.h"

namespace tenon {
namespace {

// What all kernels read, in one program for `head` (of queries) or `key_head` of row `batch`.
class Program {
 public:
  Program(TritonBuilder& b, const AttentionKernel& a, BlockValue batch) : b_(b), a_(a), batch_(std::move(batch)) {}

  // Block `block` (rows at a time) of [B,heads,length,H].
  BlockValue rows_at(const BlockValue& array, const BlockValue& head, int64_t heads, int64_t length,
                     const BlockValue& block, int64_t rows) const {
    return b_.move(array, offset(head, heads, length, block, rows, a_.H));
  }
  BlockValue query_rows(const BlockValue& array, const BlockValue& head, const BlockValue& block) const {
    return b_.load(rows_at(array, head, a_.N, a_.T, block, a_.M), {a_.M, a_.H});
  }
  BlockValue key_rows(const BlockValue& array, const BlockValue& head, const BlockValue& block) const {
    return b_.load(rows_at(array, head, a_.K, a_.S, block, a_.R), {a_.R, a_.H});
  }
  // Of [B,N,T]: one number for each query of a block.
  BlockValue of_queries_at(const BlockValue& array, const BlockValue& head, const BlockValue& block) const {
    return b_.move(array, offset(head, a_.N, a_.T, block, a_.M, 1));
  }
  BlockValue of_queries(const BlockValue& array, const BlockValue& head, const BlockValue& block) const {
    return b_.load(of_queries_at(array, head, block), {a_.M});
  }

  using Side = BlockValue (TritonBuilder::*)(const BlockValue&);
  // `arrays`: positions of queries, of keys, segments of queries, of keys; [B,T] and [B,S].
  void add_queries(BlockPlaces& places, std::span<const BlockValue> arrays, const BlockValue& block, Side side) const {
    if (a_.causal || a_.window > 0) places.query_positions = token(arrays[0], a_.T, block, a_.M, side);
    if (a_.segments) places.query_segments = token(arrays[2], a_.T, block, a_.M, side);
  }
  void add_keys(BlockPlaces& places, std::span<const BlockValue> arrays, const BlockValue& block, Side side) const {
    if (a_.causal || a_.window > 0) places.key_positions = token(arrays[1], a_.S, block, a_.R, side);
    if (a_.segments) places.key_segments = token(arrays[3], a_.S, block, a_.R, side);
    if (a_.num_keys != a_.S) places.key_places = (b_.*side)(b_.range(b_.mul(block, b_.integer(a_.R)), a_.R));
  }

  // Element `block` of row `batch` in [B,blocks].
  BlockValue bound(const BlockValue& array, const BlockValue& block, int64_t blocks) const {
    return b_.load(b_.move(array, b_.add(b_.mul(batch_, b_.integer(blocks)), block)));
  }

 private:
  // Of the first element of a block in [B,heads,length,width], which may be beyond 32 bits.
  BlockValue offset(const BlockValue& head, int64_t heads, int64_t length, const BlockValue& block, int64_t rows,
                    int64_t width) const {
    const BlockValue row = b_.add(b_.mul(batch_, b_.integer(heads)), head);
    const BlockValue token = b_.add(b_.mul(b_.wide(row), wide(length)), b_.wide(b_.mul(block, b_.integer(rows))));
    return b_.mul(token, wide(width));
  }
  BlockValue wide(int64_t value) const { return b_.constant({"i64"}, static_cast<double>(value)); }
  BlockValue token(const BlockValue& array, int64_t length, const BlockValue& block, int64_t count, Side side) const {
    const BlockValue at = b_.add(b_.mul(batch_, b_.integer(length)), b_.mul(block, b_.integer(count)));
    return (b_.*side)(b_.load(b_.move(array, at), {count}));
  }

  TritonBuilder& b_;
  const AttentionKernel& a_;
  BlockValue batch_;
};

constexpr Program::Side kColumn = &TritonBuilder::column, kRow = &TritonBuilder::row;

std::vector<std::string> elements(const AttentionKernel& a, const char* kinds) {
  std::vector<std::string> out;  // x: the dtype of queries, f: f32, i: i32
  for (const char* c = kinds; *c != 0; ++c)
    out.push_back(*c == 'x' ? block_element(a.dtype) : *c == 'f' ? "f32" : "i32");
  return out;
}

}  // namespace

TritonKernel triton_attention(const AttentionKernel& a) {
  TritonBuilder b;
  TritonKernel out{"tenon_attention", {}, a.query_blocks(), a.N, a.B, a.M * a.H >= 8192 ? 8 : 4, 2};
  out.text = triton_module(b, out.name, elements(a, "xxxiiiiiixf"), [&](const BlockValues& arrays) {
    const BlockValue block = b.program(0), head = b.program(1);
    const BlockValue key_head = b.div(head, b.integer(a.group()));
    const Program p(b, a, b.program(2));
    const BlockValue query = p.query_rows(arrays[0], head, block);
    const std::span<const BlockValue> tokens = std::span(arrays).subspan(3, 4);
    BlockPlaces of_queries;
    p.add_queries(of_queries, tokens, block, kColumn);
    const BlockType column{"f32", {a.M, 1}};
    const BlockValues start{b.constant(column, kFirstTop), b.constant(column, 0), b.constant({"f32", {a.M, a.H}}, 0)};
    const BlockValue first = p.bound(arrays[7], block, a.query_blocks()),
                     end = p.bound(arrays[8], block, a.query_blocks());
    const BlockValues sums = b.loop(first, end, start, [&](const BlockValue& j, const BlockValues& carried) {
      BlockPlaces places = of_queries;
      p.add_keys(places, tokens, j, kRow);
      const RunningSoftmax next =
          next_block(b, a, query, p.key_rows(arrays[1], key_head, j), p.key_rows(arrays[2], key_head, j), places,
                     {carried[0], carried[1], carried[2]});
      return BlockValues{next.top, next.sum, next.rows};
    });
    const BlockResult result = finish(b, a, {sums[0], sums[1], sums[2]});
    b.store(p.rows_at(arrays[9], head, a.N, a.T, block, a.M), result.context);
    b.store(p.of_queries_at(arrays[10], head, block), b.flat(result.lse));
  });
  return out;
}

TritonKernel triton_attention_query_gradient(const AttentionKernel& a) {
  TritonBuilder b;
  TritonKernel out{"tenon_attention_query_gradient", {}, a.query_blocks(), a.N, a.B, 8, 2};
  out.text = triton_module(b, out.name, elements(a, "xxxxffiiiiiix"), [&](const BlockValues& arrays) {
    const BlockValue block = b.program(0), head = b.program(1);
    const BlockValue key_head = b.div(head, b.integer(a.group()));
    const Program p(b, a, b.program(2));
    const BlockValue query = p.query_rows(arrays[0], head, block), ct = p.query_rows(arrays[3], head, block);
    const QueryState state{b.column(p.of_queries(arrays[4], head, block)),
                           b.column(p.of_queries(arrays[5], head, block))};
    const std::span<const BlockValue> tokens = std::span(arrays).subspan(6, 4);
    BlockPlaces of_queries;
    p.add_queries(of_queries, tokens, block, kColumn);
    const BlockValue first = p.bound(arrays[10], block, a.query_blocks()),
                     end = p.bound(arrays[11], block, a.query_blocks());
    const BlockValues start{b.constant({"f32", {a.M, a.H}}, 0)};
    const BlockValues sum = b.loop(first, end, start, [&](const BlockValue& j, const BlockValues& carried) {
      BlockPlaces places = of_queries;
      p.add_keys(places, tokens, j, kRow);
      const BlockValue key = p.key_rows(arrays[1], key_head, j), value = p.key_rows(arrays[2], key_head, j);
      const BlockWeights w = weights_again(b, a, query, key, ct, value, places, state);
      return BlockValues{b.dot(b.convert(w.change, key.type.element), key, carried[0])};
    });
    b.store(p.rows_at(arrays[12], head, a.N, a.T, block, a.M), b.convert(sum[0], block_element(a.dtype)));
  });
  return out;
}

TritonKernel triton_attention_key_gradient(const AttentionKernel& a) {
  TritonBuilder b;
  TritonKernel out{"tenon_attention_key_gradient", {}, a.key_blocks(), a.K, a.B, 8, 2};
  out.text = triton_module(b, out.name, elements(a, "xxxxffiiiiiixx"), [&](const BlockValues& arrays) {
    const BlockValue block = b.program(0), key_head = b.program(1);
    const Program p(b, a, b.program(2));
    const BlockValue key = p.key_rows(arrays[1], key_head, block), value = p.key_rows(arrays[2], key_head, block);
    const std::span<const BlockValue> tokens = std::span(arrays).subspan(6, 4);
    BlockPlaces of_keys;
    p.add_keys(of_keys, tokens, block, kColumn);
    const BlockValue first = p.bound(arrays[10], block, a.key_blocks()),
                     end = p.bound(arrays[11], block, a.key_blocks());
    const BlockType rows{"f32", {a.R, a.H}};
    const BlockValue first_head = b.mul(key_head, b.integer(a.group()));
    const auto of_head = [&](const BlockValue& g, const BlockValues& before) {
      const BlockValue head = b.add(first_head, g);
      return b.loop(first, end, before, [&](const BlockValue& i, const BlockValues& carried) {
        BlockPlaces places = of_keys;
        p.add_queries(places, tokens, i, kRow);
        const BlockValue query = p.query_rows(arrays[0], head, i), ct = p.query_rows(arrays[3], head, i);
        const QueryState state{b.row(p.of_queries(arrays[4], head, i)), b.row(p.of_queries(arrays[5], head, i))};
        const BlockWeights w = weights_again(b, a, key, query, value, ct, places, state);
        return BlockValues{b.dot(b.convert(w.change, query.type.element), query, carried[0]),
                           b.dot(b.convert(w.weights, ct.type.element), ct, carried[1])};
      });
    };
    const BlockValues sums =
        b.loop(b.integer(0), b.integer(a.group()), {b.constant(rows, 0), b.constant(rows, 0)}, of_head);
    for (size_t i = 0; i < 2; ++i) {
      b.store(p.rows_at(arrays[12 + i], key_head, a.K, a.S, block, a.R), b.convert(sums[i], block_element(a.dtype)));
    }
  });
  return out;
}

}  // namespace tenon
