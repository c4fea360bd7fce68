// Which values a forward pass saves. Every number is counted by hand.
#include "tenon/autodiff/residuals.h"

#include <gmock/gmock.h>

#include "tenon/autodiff/functional.h"
#include "tenon/autodiff/remat.h"
#include "tenon/ir/ops.h"
#include "tenon/passes/dce.h"

namespace tenon {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using Tensors = std::vector<Tensor>;
using Step = std::function<std::pair<Tensor, Tensors>(const Tensor& index, const Tensor& h, const Tensor& x)>;

// Types of the stacks that the backward loop of a scan reads beside its inputs, for carry h, inputs xs and a parameter
// `p` that `step` may capture.
std::vector<std::string> stacks(const TensorType& h, const TensorType& xs, const TensorType& p,
                                const std::function<Step(const Tensor& p)>& make_step) {
  const std::vector<TensorType> types{h, xs, p};
  Graph g = make_graph(types, [&](const Tensors& in) {
    const auto loss = [&](const Tensors& q) { return sum_all(scan(make_step(q[2]), q[0], q[1]).first); };
    return grad(loss, in);
  });
  eliminate_dead_code(g);
  const Trace& trace = *g.trace;
  std::vector<OpInfo> scans;
  for (OpId id : trace.region(g.root).ops) {
    if (is_scan(trace.op(id))) scans.push_back(trace.op(id));
  }
  if (scans.size() == 1) return {};  // the backward loop needs nothing of the forward one
  std::vector<std::string> out;
  for (ValueId v : scans.back().operands) {
    const auto& from = scans.front().results;
    if (std::find(from.begin(), from.end(), v) != from.end()) out.push_back(to_string(trace.value(v).type));
  }
  return out;
}

constexpr DType f32 = DType::f32;
const TensorType kHidden{f32, {8, 64}}, kWeights{f32, {5, 64, 64}}, kNone{f32, {}};

Step layer(const std::function<Tensor(const Tensor& h, const Tensor& w)>& f) {
  return [f](const Tensor&, const Tensor& h, const Tensor& w) { return std::pair<Tensor, Tensors>(f(h, w), {}); };
}

TEST(Residuals, ProductsAreSavedAndElementwiseWorkIsNot) {
  // Backward reads h, tanh(h w), its square, and w: h and h w are kept.
  const auto got = stacks(kHidden, kWeights, kNone, [](const Tensor&) {
    return layer([](const Tensor& h, const Tensor& w) {
      const Tensor y = tanh(matmul(h, w));
      return h + matmul(y * y, w);
    });
  });
  EXPECT_THAT(got, UnorderedElementsAre("f32[5,8,64]", "f32[5,8,64]"));
}

TEST(Residuals, TheSmallestFormIsKept) {
  // A wide elementwise function of something narrow, and f32 made of bf16.
  const auto narrow = stacks(kHidden, kWeights, kNone, [](const Tensor&) {
    return layer([](const Tensor& h, const Tensor& w) {
      const Tensor mean_h = mean(sin(h), {1});                          // [8], needs h itself
      const Tensor wide = exp(broadcast_in_dim(mean_h, {8, 64}, {0}));  // done again from [8]
      return tanh(matmul(convert(convert(h, DType::bf16), f32) * wide, w));
    });
  });
  EXPECT_THAT(narrow, UnorderedElementsAre("f32[5,8,64]", "f32[5,8,64]", "f32[5,8]"));
}

TEST(Residuals, WhatTheLoopIsGivenIsNeverStacked) {
  // Slices and their conversions, captures, functions of the index, and what doesn't change.
  const auto got = stacks(kHidden, kWeights, {f32, {64}}, [](const Tensor& p) {
    return Step([p](const Tensor& index, const Tensor& h, const Tensor& w) {
      const Tensor fixed = exp(p) * 2.0;
      const Tensor scale = sin(convert(index, f32) * 0.1);
      const Tensor bias = broadcast_to(fixed * scale, h.dims());
      return std::pair<Tensor, Tensors>(h * bias + matmul(h, tanh(w)) * scale, {});
    });
  });
  // Backward reads h for the gradients of tanh(w) and p.
  EXPECT_THAT(got, ElementsAre("f32[5,8,64]"));
}

TEST(Residuals, LinearLoopsSaveNothing) {
  const auto got = stacks(kHidden, kWeights, kNone, [](const Tensor&) {
    return layer([](const Tensor& h, const Tensor& w) { return h + broadcast_to(reduce_sum(w, {0}), h.dims()); });
  });
  EXPECT_THAT(got, IsEmpty());
}

TEST(Residuals, NarrowContractionsAreDoneAgain) {
  const auto got = [](int64_t rank) {
    return stacks(kHidden, {f32, {5, rank, 64}}, {f32, {64, rank}}, [](const Tensor& p) {
      return layer([p](const Tensor& h, const Tensor& w) { return sin(matmul(matmul(h, p), w)); });
    });
  };
  // h, [8,rank] and, unless it is cheap to make of [8,rank], [8,64].
  EXPECT_THAT(got(2), UnorderedElementsAre("f32[5,8,64]", "f32[5,8,2]"));
  EXPECT_THAT(got(80), UnorderedElementsAre("f32[5,8,64]", "f32[5,8,80]", "f32[5,8,64]"));
}

TEST(Residuals, LongChainsAreCutWhereItPays) {
  const auto got = [](int steps) {
    return stacks(kHidden, kWeights, kNone, [steps](const Tensor&) {
      return layer([steps](const Tensor& h, const Tensor& w) {
        const Tensor y = matmul(h, w);
        Tensor z = y;
        for (int i = 0; i < steps; ++i) z = z * 1.01;
        return h + sin(y) * sin(z);
      });
    });
  };
  EXPECT_EQ(got(20).size(), 2U);   // h and y
  EXPECT_EQ(got(200).size(), 3U);  // z too: 4 bytes are cheaper than 200 operations
}

TEST(Residuals, OutputsOfTheScanAreNotSavedTwice) {
  const std::vector<TensorType> types{kHidden, kWeights};
  Graph g = make_graph(types, [&](const Tensors& in) {
    const auto loss = [](const Tensors& q) {
      const auto out = scan(
          [](const Tensor&, const Tensor& h, const Tensor& w) {
            const Tensor y = matmul(h, w);
            return std::pair<Tensor, Tensor>(tanh(y), y);
          },
          q[0], q[1]);
      return sum_all(out.first) + sum_all(sin(out.second));
    };
    return grad(loss, in);
  });
  eliminate_dead_code(g);
  const Trace& trace = *g.trace;
  for (OpId id : trace.region(g.root).ops) {
    if (!is_scan(trace.op(id))) continue;
    EXPECT_EQ(trace.op(id).results.size(), 3U);  // the carry, y, and h
    break;
  }
}

}  // namespace
}  // namespace tenon
