#include "tenon/autodiff/min_cut.h"

#include <gtest/gtest.h>

#include <random>

#include "tenon/base/error.h"

namespace tenon {
namespace {

struct TestEdge {
  size_t from, to;
  int64_t capacity;
};

FlowNetwork network(size_t num_nodes, const std::vector<TestEdge>& edges) {
  FlowNetwork out;
  for (size_t i = 0; i < num_nodes; ++i) out.add_node();
  for (const TestEdge& e : edges) out.add_edge(e.from, e.to, e.capacity);
  return out;
}

int64_t cost(const std::vector<bool>& source_side, const std::vector<TestEdge>& edges) {
  int64_t sum = 0;
  for (const TestEdge& e : edges) sum += source_side[e.from] && !source_side[e.to] ? e.capacity : 0;
  return sum;
}

TEST(MinCut, OfTiesTheOneNearestTheSink) {
  EXPECT_EQ(network(4, {{0, 1, 3}, {1, 2, 3}, {2, 3, 3}}).cut(0, 3), (std::vector<bool>{true, true, true, false}));
  EXPECT_EQ(network(4, {{0, 1, 3}, {1, 2, 2}, {2, 3, 3}}).cut(0, 3), (std::vector<bool>{true, true, false, false}));
}

TEST(MinCut, WhatIsApartStaysOnTheSourcesSide) {
  EXPECT_EQ(network(4, {{0, 1, 5}, {2, 3, FlowNetwork::kInfinite}}).cut(0, 3),
            (std::vector<bool>{true, true, false, false}));
}

// The flow must be led back over the middle edge.
TEST(MinCut, NeedsTheReverseEdges) {
  const std::vector<TestEdge> edges{{0, 1, 10}, {0, 2, 10}, {1, 2, 1}, {1, 3, 10}, {2, 3, 10}};
  EXPECT_EQ(cost(network(4, edges).cut(0, 3), edges), 20);
}

TEST(MinCut, InfiniteCutsAreAnError) {
  const int64_t inf = FlowNetwork::kInfinite;
  EXPECT_THROW(network(3, {{0, 1, inf}, {1, 2, inf}}).cut(0, 2), Error);
  EXPECT_EQ(network(3, {{0, 1, inf}, {1, 2, 7}}).cut(0, 2), (std::vector<bool>{true, true, false}));
}

// Against every possible cut of small random graphs.
TEST(MinCut, IsTheCheapest) {
  std::mt19937 rng(1);
  const size_t n = 7;
  for (int round = 0; round < 300; ++round) {
    std::vector<TestEdge> edges;
    for (size_t i = 0; i < 6 + rng() % 16; ++i) {
      edges.push_back({rng() % n, rng() % n, static_cast<int64_t>(rng() % 9)});
    }
    int64_t best = FlowNetwork::kInfinite;
    for (unsigned sides = 0; sides < 1u << (n - 2); ++sides) {
      std::vector<bool> side(n, false);
      side[0] = true;
      for (size_t i = 1; i + 1 < n; ++i) side[i] = (sides >> (i - 1) & 1u) != 0;
      best = std::min(best, cost(side, edges));
    }
    const std::vector<bool> side = network(n, edges).cut(0, n - 1);
    ASSERT_TRUE(side[0] && !side[n - 1]);
    ASSERT_EQ(cost(side, edges), best) << "round " << round;
  }
}

}  // namespace
}  // namespace tenon
