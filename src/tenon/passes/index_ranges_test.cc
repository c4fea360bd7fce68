#include "tenon/passes/index_ranges.h"

#include <gtest/gtest.h>

#include <limits>

#include "tenon/ir/ops.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;

constexpr int64_t kLeast = std::numeric_limits<int32_t>::min(), kMost = std::numeric_limits<int32_t>::max();

Tensor i32(int64_t v) { return constant(Literal::scalar_int(DType::i32, v)); }

// The range of what `body` makes of the index of a scan of length 5 and of an i32 nothing is known of.
std::pair<int64_t, int64_t> range(const std::function<Tensor(const Tensor& index, const Tensor& unknown)>& body) {
  std::pair<int64_t, int64_t> out;
  make_graph(std::vector<TensorType>{{DType::i32, {}}}, [&](const Tensors& x) {
    Trace& trace = current_trace();
    ValueId result = 0;
    const RegionId region = trace_region(trace, std::vector<TensorType>{{DType::i32, {}}}, [&](const Tensors& p) {
      const Tensor made = body(p[0], x[0]);
      result = made.id();
      return Tensors{made};
    });
    const Tensors ys = scan_op(region, 5, {}, {});
    IndexRanges ranges(trace);
    ranges.enter(trace.op(trace.value(ys[0].id()).def));
    const IndexRange found = ranges.of(result);
    out = {found.low, found.high};
    return ys;
  });
  return out;
}

TEST(IndexRanges, FollowArithmetic) {
  using T = Tensor;
  const std::pair<int64_t, int64_t> any{kLeast, kMost};
  EXPECT_EQ(range([](const T& i, const T&) { return i; }), std::pair(int64_t{0}, int64_t{4}));
  EXPECT_EQ(range([](const T&, const T& x) { return x; }), any);
  EXPECT_EQ(range([](const T&, const T&) { return i32(-3); }), std::pair(int64_t{-3}, int64_t{-3}));
  EXPECT_EQ(range([](const T& i, const T&) { return i * i32(-8) + i32(1); }), std::pair(int64_t{-31}, int64_t{1}));
  EXPECT_EQ(range([](const T& i, const T&) { return i32(4) - i; }), std::pair(int64_t{0}, int64_t{4}));
  EXPECT_EQ(range([](const T&, const T& x) { return minimum(x, i32(7)); }), std::pair(kLeast, int64_t{7}));
  EXPECT_EQ(range([](const T&, const T& x) { return maximum(x, i32(7)); }), std::pair(int64_t{7}, kMost));
  EXPECT_EQ(range([](const T& i, const T& x) { return clamp(x, i, i32(9)); }), std::pair(int64_t{0}, int64_t{9}));
  EXPECT_EQ(range([](const T&, const T& x) { return clamp(x, i32(5), i32(2)); }), std::pair(int64_t{2}, int64_t{2}));
  EXPECT_EQ(range([](const T&, const T& x) { return rem(x, i32(6)); }), std::pair(int64_t{-5}, int64_t{5}));
  EXPECT_EQ(range([](const T& i, const T&) { return rem(i, i32(3)); }), std::pair(int64_t{0}, int64_t{2}));
  EXPECT_EQ(range([](const T& i, const T& x) { return select(less(x, i), i, i32(8)); }),
            std::pair(int64_t{0}, int64_t{8}));
  EXPECT_EQ(range([](const T& i, const T&) { return tag(reshape(reshape(i, {1}), {}), "i"); }), any);
}

TEST(IndexRanges, WhatMayOverflowMayBeAnything) {
  using T = Tensor;
  const std::pair<int64_t, int64_t> any{kLeast, kMost};
  EXPECT_EQ(range([](const T& i, const T&) { return i * i32(int64_t{1} << 30); }), any);
  EXPECT_EQ(range([](const T& i, const T&) { return i + i32(kMost); }), any);
  EXPECT_EQ(range([](const T&, const T& x) { return x - i32(1); }), any);
  EXPECT_EQ(range([](const T& i, const T&) { return rem(i, i); }), any);
  EXPECT_EQ(range([](const T& i, const T&) { return i / i32(2); }), any);
}

}  // namespace
}  // namespace tenon
