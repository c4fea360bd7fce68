// Minimum cut: the cheapest edges that part two nodes of a directed graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon {

class FlowNetwork {
 public:
  // A capacity no cut may contain; finite ones must sum to less.
  static constexpr int64_t kInfinite = int64_t{1} << 61;

  size_t add_node();
  // Capacities are at least 0.
  void add_edge(size_t from, size_t to, int64_t capacity);
  // Which nodes are on the source's side. Of several cheapest cuts, the one nearest the sink. Throws `internal` when
  // every cut is infinite. Dinic's algorithm; the result depends on nothing but the graph.
  std::vector<bool> cut(size_t source, size_t sink);

 private:
  struct Edge {
    size_t to;
    int64_t left;  // capacity not yet used
  };

  bool find_levels(size_t source, size_t sink);
  void push_along_levels(size_t source, size_t sink);
  void augment(const std::vector<size_t>& path);

  std::vector<Edge> edges_;  // edge i ^ 1 is the reverse of edge i
  std::vector<std::vector<size_t>> out_;
  std::vector<int64_t> level_;
  std::vector<size_t> next_;  // per node, the first edge not yet exhausted in this phase
};

}  // namespace tenon
