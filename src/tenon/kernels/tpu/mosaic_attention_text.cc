#include "tenon/kernels/tpu/mosaic_attention_text.h"

#include <utility>

#include "tenon/kernels/tpu/mosaic_builder.h"

namespace tenon {
namespace {

using Memories = std::vector<MosaicMemory>;
using Index = std::function<BlockValue(MosaicBuilder&, const MosaicPlace&)>;

// Where a program is: all but `batch` as functions of its place.
struct Layout {
  const AttentionKernel& a;
  Index head, key_head, query_block, key_block;
  // What runs over the blocks that a row of programs looks at: of queries' blocks, or of keys'.
  size_t outer = 2, inner = 3;  // dimensions of the grid
  int64_t outer_blocks = 0;
};

// Blocks [first, end) that this program's row looks at.
std::pair<BlockValue, BlockValue> bounds(MosaicBuilder& b, const MosaicPlace& p, const Layout& l) {
  const BlockValue at = b.add(b.mul(p.grid[0], b.integer(l.outer_blocks)), p.grid[l.outer]);
  return {b.scalar(p.prefetched[0], at), b.scalar(p.prefetched[1], at)};
}
// The inner block moved into the bounds: what is skipped isn't fetched.
BlockValue inner_block(MosaicBuilder& b, const MosaicPlace& p, const Layout& l) {
  const auto [first, end] = bounds(b, p, l);
  const BlockValue last = b.max(b.sub(end, b.integer(1)), b.integer(0));
  return b.min(b.max(p.grid[l.inner], first), last);
}

Index grid(size_t dim) {
  return [dim](MosaicBuilder&, const MosaicPlace& p) { return p.grid[dim]; };
}

class Windows {
 public:
  explicit Windows(const Layout& layout) : l_(layout), a_(layout.a) {}

  // [B,N,T,H] and [B,K,S,H].
  MosaicWindow queries() const { return rows(a_.M, l_.head, l_.query_block); }
  MosaicWindow keys() const { return rows(a_.R, l_.key_head, l_.key_block); }
  // [B,N,1,T].
  MosaicWindow of_queries() const {
    return {"f32", {1, 1, 1, a_.M}, [l = l_](MosaicBuilder& b, const MosaicPlace& p) {
              return BlockValues{p.grid[0], l.head(b, p), b.integer(0), l.query_block(b, p)};
            }};
  }
  // Positions and segments, as the mask needs them.
  void add_places(std::vector<MosaicWindow>& list) const {
    const PlaceArrays needed(a_);
    for (const bool wanted : {needed.positions, needed.segments}) {
      if (!wanted) continue;
      list.push_back(places(a_.M, l_.query_block));
      list.push_back(places(a_.R, l_.key_block));
    }
  }

 private:
  MosaicWindow rows(int64_t count, const Index& head, const Index& block) const {
    return {block_element(a_.dtype), {1, 1, count, a_.H}, [head, block](MosaicBuilder& b, const MosaicPlace& p) {
              return BlockValues{p.grid[0], head(b, p), block(b, p), b.integer(0)};
            }};
  }
  static MosaicWindow places(int64_t count, const Index& block) {
    return {"i32", {1, 1, count}, [block](MosaicBuilder& b, const MosaicPlace& p) {
              return BlockValues{p.grid[0], b.integer(0), block(b, p)};
            }};
  }
  const Layout& l_;
  const AttentionKernel& a_;
};

// Numbers of the tokens that are rows of blocks: turned into columns when a row of programs begins, and kept.
class Columns {
 public:
  // Kept in `scratch` from the end of `kernel.scratch` on.
  explicit Columns(MosaicKernel& kernel) : kernel_(kernel), first_(kernel.scratch.size()) {}
  // Those of window `window`, a row.
  void add(size_t window) {
    const MosaicWindow& w = kernel_.windows[window];
    kernel_.scratch.push_back({w.element, {w.block.back(), 1}});
    windows_.push_back(window);
  }
  void keep(MosaicBuilder& b, const Memories& windows, const Memories& scratch) const {
    for (size_t i = 0; i < windows_.size(); ++i) b.store(scratch[first_ + i], b.turned(b.load(windows[windows_[i]])));
  }
  // Window `window`, as a column if it was added.
  BlockValue load(MosaicBuilder& b, const Memories& windows, const Memories& scratch, size_t window) const {
    for (size_t i = 0; i < windows_.size(); ++i) {
      if (windows_[i] == window) return b.load(scratch[first_ + i]);
    }
    return b.load(windows[window]);
  }

 private:
  MosaicKernel& kernel_;
  size_t first_;
  std::vector<size_t> windows_;
};

// The windows from `first` on have the places; those of the rows of blocks become columns.
void add_place_columns(Columns& columns, const AttentionKernel& a, size_t first, bool queries_are_rows) {
  const PlaceArrays needed(a);
  for (const bool wanted : {needed.positions, needed.segments}) {
    if (!wanted) continue;
    columns.add(first + (queries_are_rows ? 0 : 1));
    first += 2;
  }
}

BlockPlaces load_places(MosaicBuilder& b, const AttentionKernel& a, const std::function<BlockValue(size_t)>& load,
                        size_t first, const BlockValue& key_block, bool queries_are_rows) {
  BlockPlaces out;
  const PlaceArrays needed(a);
  if (needed.positions) {
    out.query_positions = load(first++);
    out.key_positions = load(first++);
  }
  if (needed.segments) {
    out.query_segments = load(first++);
    out.key_segments = load(first++);
  }
  if (a.num_keys != a.S) {
    const Dims dims = queries_are_rows ? Dims{a.M, a.R} : Dims{a.R, a.M};
    const BlockValue start = b.mul(key_block, b.integer(a.R));
    out.key_places = b.add(b.places(dims, queries_are_rows ? 1 : 0), b.broadcast(start, dims));
  }
  return out;
}

void when(MosaicBuilder& b, const BlockValue& x, int64_t value, const std::function<void()>& body) {
  b.if_then(b.compare(Comparison::equal, x, b.integer(value)), body);
}
void when_within(MosaicBuilder& b, const MosaicPlace& p, const Layout& l, const std::function<void()>& body) {
  const auto [first, end] = bounds(b, p, l);
  const BlockValue& at = p.grid[l.inner];
  b.if_then(b.both(b.compare(Comparison::less_equal, first, at), b.compare(Comparison::less, at, end)), body);
}

// Programs (batch, head, block of queries, block of keys).
Layout by_queries(const AttentionKernel& a) {
  Layout l{a, grid(1), {}, grid(2), {}, 2, 3, a.query_blocks()};
  l.key_head = [group = a.group()](MosaicBuilder& b, const MosaicPlace& p) {
    return group == 1 ? p.grid[1] : b.div(p.grid[1], b.integer(group));
  };
  l.key_block = [l](MosaicBuilder& b, const MosaicPlace& p) { return inner_block(b, p, l); };
  return l;
}
// Programs (batch, head of keys, block of keys, head of its group, block of queries).
Layout by_keys(const AttentionKernel& a) {
  Layout l{a, {}, grid(1), {}, grid(2), 2, 4, a.key_blocks()};
  l.head = [group = a.group()](MosaicBuilder& b, const MosaicPlace& p) {
    return b.add(b.mul(p.grid[1], b.integer(group)), p.grid[3]);
  };
  l.query_block = [l](MosaicBuilder& b, const MosaicPlace& p) { return inner_block(b, p, l); };
  return l;
}

void zero(MosaicBuilder& b, const MosaicMemory& memory) { b.store(memory, b.constant({"f32", memory.dims}, 0)); }

}  // namespace

std::string mosaic_attention(const AttentionKernel& a) {
  const Layout l = by_queries(a);
  const Windows w(l);
  const int64_t blocks = a.B * a.query_blocks();
  MosaicKernel k{"tenon_attention", {a.B, a.N, a.query_blocks(), a.key_blocks()}, 3, {blocks, blocks}, {}, {}, {}};
  k.windows = {w.queries(), w.keys(), w.keys()};
  w.add_places(k.windows);
  const size_t results = k.windows.size();
  k.windows.push_back(w.queries());
  k.windows.push_back(w.of_queries());
  k.scratch = {{"f32", {a.M, 1}}, {"f32", {a.M, 1}}, {"f32", {a.M, a.H}}};
  Columns columns(k);
  add_place_columns(columns, a, 3, true);
  k.body = [&](MosaicBuilder& b, const MosaicPlace& p, const Memories& windows, const Memories& scratch) {
    const BlockValue& block = p.grid[l.inner];
    const auto load = [&](size_t i) { return columns.load(b, windows, scratch, i); };
    when(b, block, 0, [&] {
      columns.keep(b, windows, scratch);
      b.store(scratch[0], b.constant({"f32", scratch[0].dims}, kFirstTop));
      zero(b, scratch[1]);
      zero(b, scratch[2]);
    });
    when_within(b, p, l, [&] {
      const BlockPlaces places = load_places(b, a, load, 3, block, true);
      const RunningSoftmax next = next_block(b, a, load(0), load(1), load(2), places,
                                             {b.load(scratch[0]), b.load(scratch[1]), b.load(scratch[2])});
      b.store(scratch[0], next.top);
      b.store(scratch[1], next.sum);
      b.store(scratch[2], next.rows);
    });
    when(b, block, a.key_blocks() - 1, [&] {
      const BlockResult result = finish(b, a, {b.load(scratch[0]), b.load(scratch[1]), b.load(scratch[2])});
      b.store(windows[results], result.context);
      b.store(windows[results + 1], b.turned(result.lse));
    });
  };
  return mosaic_module(k);
}

std::string mosaic_attention_query_gradient(const AttentionKernel& a) {
  const std::string x = block_element(a.dtype);
  const Layout l = by_queries(a);
  const Windows w(l);
  const int64_t blocks = a.B * a.query_blocks();
  MosaicKernel k{
      "tenon_attention_query_gradient", {a.B, a.N, a.query_blocks(), a.key_blocks()}, 3, {blocks, blocks}, {}, {}, {}};
  k.windows = {w.queries(), w.keys(), w.keys(), w.queries(), w.of_queries(), w.of_queries()};
  w.add_places(k.windows);
  k.windows.push_back(w.queries());
  k.scratch = {{"f32", {a.M, a.H}}};
  Columns columns(k);
  columns.add(4);
  columns.add(5);
  add_place_columns(columns, a, 6, true);
  k.body = [&](MosaicBuilder& b, const MosaicPlace& p, const Memories& windows, const Memories& scratch) {
    const BlockValue& block = p.grid[l.inner];
    const auto load = [&](size_t i) { return columns.load(b, windows, scratch, i); };
    when(b, block, 0, [&] {
      columns.keep(b, windows, scratch);
      zero(b, scratch[0]);
    });
    when_within(b, p, l, [&] {
      const BlockPlaces places = load_places(b, a, load, 6, block, true);
      const BlockValue key = load(1);
      const BlockWeights weights = weights_again(b, a, load(0), key, load(3), load(2), places, {load(4), load(5)});
      b.store(scratch[0], b.dot(b.convert(weights.change, x), key, b.load(scratch[0])));
    });
    when(b, block, a.key_blocks() - 1, [&] { b.store(windows.back(), b.convert(b.load(scratch[0]), x)); });
  };
  return mosaic_module(k);
}

std::string mosaic_attention_key_gradient(const AttentionKernel& a) {
  const std::string x = block_element(a.dtype);
  const Layout l = by_keys(a);
  const Windows w(l);
  const int64_t blocks = a.B * a.key_blocks();
  MosaicKernel k{"tenon_attention_key_gradient",
                 {a.B, a.K, a.key_blocks(), a.group(), a.query_blocks()},
                 3,
                 {blocks, blocks},
                 {},
                 {},
                 {}};
  k.windows = {w.queries(), w.keys(), w.keys(), w.queries(), w.of_queries(), w.of_queries()};
  w.add_places(k.windows);
  const size_t results = k.windows.size();
  k.windows.push_back(w.keys());
  k.windows.push_back(w.keys());
  k.scratch = {{"f32", {a.R, a.H}}, {"f32", {a.R, a.H}}};
  Columns columns(k);
  add_place_columns(columns, a, 6, false);
  k.body = [&](MosaicBuilder& b, const MosaicPlace& p, const Memories& windows, const Memories& scratch) {
    const BlockValue step = b.add(b.mul(p.grid[3], b.integer(a.query_blocks())), p.grid[4]);
    const auto load = [&](size_t i) { return columns.load(b, windows, scratch, i); };
    when(b, step, 0, [&] {
      columns.keep(b, windows, scratch);
      zero(b, scratch[0]);
      zero(b, scratch[1]);
    });
    when_within(b, p, l, [&] {
      const BlockPlaces places = load_places(b, a, load, 6, p.grid[2], false);
      const BlockValue query = load(0), ct = load(3);
      const BlockWeights weights = weights_again(b, a, load(1), query, load(2), ct, places, {load(4), load(5)});
      b.store(scratch[0], b.dot(b.convert(weights.change, x), query, b.load(scratch[0])));
      b.store(scratch[1], b.dot(b.convert(weights.weights, x), ct, b.load(scratch[1])));
    });
    when(b, step, a.group() * a.query_blocks() - 1, [&] {
      for (size_t i = 0; i < 2; ++i) b.store(windows[results + i], b.convert(b.load(scratch[i]), x));
    });
  };
  return mosaic_module(k);
}

}  // namespace tenon
