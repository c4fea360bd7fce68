#include "tenon/kernels/tpu/mosaic_attention_text.h"

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

  // [B,N,T,width] and [B,K,S,width].
  MosaicWindow of_queries(const std::string& element, int64_t width) const {
    return {element, {1, 1, a_.M, width}, at(l_.head, l_.query_block)};
  }
  MosaicWindow of_keys(const std::string& element, int64_t width) const {
    return {element, {1, 1, a_.R, width}, at(l_.key_head, l_.key_block)};
  }
  // [B,N,1,T].
  MosaicWindow row_of_queries() const {
    return {"f32", {1, 1, 1, a_.M}, [l = l_](MosaicBuilder& b, const MosaicPlace& p) {
              return BlockValues{p.grid[0], l.head(b, p), b.integer(0), l.query_block(b, p)};
            }};
  }
  // Positions and segments, as the mask needs them.
  void add_places(std::vector<MosaicWindow>& list, bool queries_are_rows) const {
    const PlaceArrays needed(a_);
    for (const bool wanted : {needed.positions, needed.segments}) {
      if (!wanted) continue;
      list.push_back(places(a_.M, l_.query_block, queries_are_rows));
      list.push_back(places(a_.R, l_.key_block, !queries_are_rows));
    }
  }

 private:
  using At = std::function<BlockValues(MosaicBuilder&, const MosaicPlace&)>;
  static At at(const Index& head, const Index& block) {
    return [head, block](MosaicBuilder& b, const MosaicPlace& p) {
      return BlockValues{p.grid[0], head(b, p), block(b, p), b.integer(0)};
    };
  }
  static MosaicWindow places(int64_t count, const Index& block, bool column) {
    return {"i32", column ? Dims{1, count, 1} : Dims{1, 1, count}, [=](MosaicBuilder& b, const MosaicPlace& p) {
              const BlockValue zero = b.integer(0), n = block(b, p);
              return column ? BlockValues{p.grid[0], n, zero} : BlockValues{p.grid[0], zero, n};
            }};
  }
  const Layout& l_;
  const AttentionKernel& a_;
};

// Reads the places from windows `first` on.
BlockPlaces load_places(MosaicBuilder& b, const AttentionKernel& a, const Memories& windows, size_t first,
                        const BlockValue& key_block, bool queries_are_rows) {
  BlockPlaces out;
  const PlaceArrays needed(a);
  if (needed.positions) {
    out.query_positions = b.load(windows[first++]);
    out.key_positions = b.load(windows[first++]);
  }
  if (needed.segments) {
    out.query_segments = b.load(windows[first++]);
    out.key_segments = b.load(windows[first++]);
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
  const std::string x = block_element(a.dtype);
  const Layout l = by_queries(a);
  const Windows w(l);
  const int64_t blocks = a.B * a.query_blocks();
  MosaicKernel k{"tenon_attention", {a.B, a.N, a.query_blocks(), a.key_blocks()}, 3, {blocks, blocks}, {}, {}, {}};
  k.windows = {w.of_queries(x, a.H), w.of_keys(x, a.H), w.of_keys(x, a.H)};
  w.add_places(k.windows, true);
  const size_t results = k.windows.size();
  k.windows.push_back(w.of_queries(x, a.H));
  k.windows.push_back(w.of_queries("f32", 1));
  k.scratch = {{a.M, 1}, {a.M, 1}, {a.M, a.H}};
  k.body = [&](MosaicBuilder& b, const MosaicPlace& p, const Memories& windows, const Memories& sums) {
    const BlockValue& block = p.grid[l.inner];
    when(b, block, 0, [&] {
      b.store(sums[0], b.constant({"f32", sums[0].dims}, -1e30));
      zero(b, sums[1]);
      zero(b, sums[2]);
    });
    when_within(b, p, l, [&] {
      const BlockPlaces places = load_places(b, a, windows, 3, block, true);
      const RunningSoftmax next = next_block(b, a, b.load(windows[0]), b.load(windows[1]), b.load(windows[2]), places,
                                             {b.load(sums[0]), b.load(sums[1]), b.load(sums[2])});
      b.store(sums[0], next.top);
      b.store(sums[1], next.sum);
      b.store(sums[2], next.rows);
    });
    when(b, block, a.key_blocks() - 1, [&] {
      const BlockResult result = finish(b, a, {b.load(sums[0]), b.load(sums[1]), b.load(sums[2])});
      b.store(windows[results], result.context);
      b.store(windows[results + 1], result.lse);
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
  k.windows = {w.of_queries(x, a.H), w.of_keys(x, a.H),      w.of_keys(x, a.H),
               w.of_queries(x, a.H), w.of_queries("f32", 1), w.of_queries("f32", 1)};
  w.add_places(k.windows, true);
  k.windows.push_back(w.of_queries(x, a.H));
  k.scratch = {{a.M, a.H}};
  k.body = [&](MosaicBuilder& b, const MosaicPlace& p, const Memories& windows, const Memories& sums) {
    const BlockValue& block = p.grid[l.inner];
    when(b, block, 0, [&] { zero(b, sums[0]); });
    when_within(b, p, l, [&] {
      const BlockPlaces places = load_places(b, a, windows, 6, block, true);
      const BlockValue query = b.load(windows[0]), key = b.load(windows[1]), value = b.load(windows[2]);
      const QueryState state{b.load(windows[4]), b.load(windows[5])};
      const BlockWeights weights = weights_again(b, a, query, key, b.load(windows[3]), value, places, state);
      b.store(sums[0], b.dot(b.convert(weights.change, x), key, b.load(sums[0])));
    });
    when(b, block, a.key_blocks() - 1, [&] { b.store(windows.back(), b.convert(b.load(sums[0]), x)); });
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
  k.windows = {w.of_queries(x, a.H), w.of_keys(x, a.H),  w.of_keys(x, a.H),
               w.of_queries(x, a.H), w.row_of_queries(), w.row_of_queries()};
  w.add_places(k.windows, false);
  const size_t results = k.windows.size();
  k.windows.push_back(w.of_keys(x, a.H));
  k.windows.push_back(w.of_keys(x, a.H));
  k.scratch = {{a.R, a.H}, {a.R, a.H}};
  k.body = [&](MosaicBuilder& b, const MosaicPlace& p, const Memories& windows, const Memories& sums) {
    const BlockValue step = b.add(b.mul(p.grid[3], b.integer(a.query_blocks())), p.grid[4]);
    when(b, step, 0, [&] {
      zero(b, sums[0]);
      zero(b, sums[1]);
    });
    when_within(b, p, l, [&] {
      const BlockPlaces places = load_places(b, a, windows, 6, p.grid[2], false);
      const BlockValue query = b.load(windows[0]), key = b.load(windows[1]), value = b.load(windows[2]);
      const BlockValue ct = b.load(windows[3]);
      const QueryState state{b.load(windows[4]), b.load(windows[5])};
      const BlockWeights weights = weights_again(b, a, key, query, value, ct, places, state);
      b.store(sums[0], b.dot(b.convert(weights.change, x), query, b.load(sums[0])));
      b.store(sums[1], b.dot(b.convert(weights.weights, x), ct, b.load(sums[1])));
    });
    when(b, step, a.group() * a.query_blocks() - 1, [&] {
      for (size_t i = 0; i < 2; ++i) b.store(windows[results + i], b.convert(b.load(sums[i]), x));
    });
  };
  return mosaic_module(k);
}

}  // namespace tenon
