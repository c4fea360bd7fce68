#include "tenon/autodiff/min_cut.h"

#include <algorithm>

#include "tenon/base/error.h"

namespace tenon {

size_t FlowNetwork::add_node() {
  out_.emplace_back();
  return out_.size() - 1;
}

void FlowNetwork::add_edge(size_t from, size_t to, int64_t capacity) {
  check(from < out_.size() && to < out_.size() && capacity >= 0, "an edge joins two nodes and has a capacity");
  out_[from].push_back(edges_.size());
  edges_.push_back({to, std::min(capacity, kInfinite)});
  out_[to].push_back(edges_.size());
  edges_.push_back({from, 0});
}

// Distances from the source over edges with capacity left; whether the sink is reached.
bool FlowNetwork::find_levels(size_t source, size_t sink) {
  level_.assign(out_.size(), -1);
  level_[source] = 0;
  std::vector<size_t> queue{source};
  for (size_t head = 0; head < queue.size(); ++head) {
    for (size_t e : out_[queue[head]]) {
      const Edge& edge = edges_[e];
      if (edge.left == 0 || level_[edge.to] >= 0) continue;
      level_[edge.to] = level_[queue[head]] + 1;
      queue.push_back(edge.to);
    }
  }
  return level_[sink] >= 0;
}

void FlowNetwork::augment(const std::vector<size_t>& path) {
  int64_t amount = kInfinite;
  for (size_t e : path) amount = std::min(amount, edges_[e].left);
  check(amount < kInfinite, "every cut is infinite");
  for (size_t e : path) {
    if (edges_[e].left < kInfinite) edges_[e].left -= amount;
    if (edges_[e ^ 1].left < kInfinite) edges_[e ^ 1].left += amount;
  }
}

// A blocking flow: walks depth first along rising levels, without recursion since programs are deep.
void FlowNetwork::push_along_levels(size_t source, size_t sink) {
  next_.assign(out_.size(), 0);
  std::vector<size_t> path;
  size_t at = source;
  while (true) {
    if (at == sink) {
      augment(path);
      // Back to the start of the first edge that is now full.
      const auto full = std::find_if(path.begin(), path.end(), [&](size_t e) { return edges_[e].left == 0; });
      at = edges_[*full ^ 1].to;
      path.erase(full, path.end());
      continue;
    }
    if (next_[at] < out_[at].size()) {
      const size_t e = out_[at][next_[at]];
      if (edges_[e].left > 0 && level_[edges_[e].to] == level_[at] + 1) {
        path.push_back(e);
        at = edges_[e].to;
      } else {
        ++next_[at];
      }
      continue;
    }
    if (path.empty()) return;
    at = edges_[path.back() ^ 1].to;
    path.pop_back();
    ++next_[at];
  }
}

std::vector<bool> FlowNetwork::cut(size_t source, size_t sink) {
  while (find_levels(source, sink)) push_along_levels(source, sink);
  // What can still reach the sink is on its side, backwards over edges with capacity left.
  std::vector<bool> source_side(out_.size(), true);
  source_side[sink] = false;
  std::vector<size_t> queue{sink};
  for (size_t head = 0; head < queue.size(); ++head) {
    for (size_t e : out_[queue[head]]) {
      const size_t from = edges_[e].to;
      if (!source_side[from] || edges_[e ^ 1].left == 0) continue;
      source_side[from] = false;
      queue.push_back(from);
    }
  }
  return source_side;
}

}  // namespace tenon
