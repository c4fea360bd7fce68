// Gradients through cond and case: their values, and what the branches save for the backward pass. Counts are by hand.
#include <gmock/gmock.h>

#include "tenon/autodiff/functional.h"
#include "tenon/autodiff/remat.h"
#include "tenon/autodiff/testing/check_gradients.h"
#include "tenon/ir/interpreter.h"
#include "tenon/ir/op_def.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/passes/dce.h"
#include "tenon/passes/pipeline.h"

namespace tenon {
namespace {

using ::testing::ElementsAre;
using Tensors = std::vector<Tensor>;

Tensor flag(bool value) { return greater(full({DType::f64, {}}, value ? 1 : 0), zeros({DType::f64, {}})); }
Tensor at(int64_t index) { return full({DType::i32, {}}, static_cast<double>(index)); }

// Types of the results of every cond and case, in order, those inside scans included.
std::vector<std::vector<std::string>> branch_results(const Graph& g, RegionId region) {
  std::vector<std::vector<std::string>> out;
  for (const OpId id : g.trace->region(region).ops) {
    const OpInfo& op = g.trace->op(id);
    if (is_branch(op)) {
      std::vector<std::string> types;
      for (const TensorType& t : g.trace->types(op.results)) types.push_back(to_string(t));
      out.push_back(types);
    }
    if (!is_scan(op)) continue;
    const auto inner = branch_results(g, op.regions[0]);
    out.insert(out.end(), inner.begin(), inner.end());
  }
  return out;
}

// The program of a loss of f32 arrays and its gradient, without dead code.
Graph gradient_of(const LossFn& loss, const std::vector<Dims>& shapes) {
  std::vector<TensorType> types;
  for (const Dims& dims : shapes) types.push_back({DType::f32, dims});
  Graph g = make_graph(types, [&](const Tensors& in) {
    const auto with_aux = [&](const Tensors& p) { return std::pair<Tensor, Tensors>(loss(p), {}); };
    const auto both = value_and_grad(with_aux, in);
    Tensors out{both.value};
    out.insert(out.end(), both.grads.begin(), both.grads.end());
    return out;
  });
  eliminate_dead_code(g);
  return g;
}

// Three branches: a product under tanh, one under sin, and nothing to save.
Tensor three_ways(const Tensors& p) {
  const auto sum = [](const Tensor& x) { return reduce_sum(x, {1}); };
  return sum_all(switch_case(
      at(1), {[&] { return Tensors{sum(tanh(matmul(p[0], p[1])))}; },
              [&] { return Tensors{sum(sin(matmul(p[0], p[2])))}; }, [&] { return Tensors{sum(p[0])}; }})[0]);
}
const std::vector<Dims> kThreeWays = {{4, 128}, {128, 128}, {128, 128}};

TEST(BranchGrad, BranchesShareWhatTheySave) {
  const Graph g = gradient_of(three_ways, kThreeWays);
  EXPECT_EQ(count_ops(*g.trace, g.root, "dot_general"), 6);  // two forward, four backward
  const auto results = branch_results(g, g.root);
  ASSERT_EQ(results.size(), 2U);
  EXPECT_THAT(results[0], ElementsAre("f32[4]", "f32[4,128]"));  // what either product left
  EXPECT_THAT(results[1], ElementsAre("f32[4,128]", "f32[128,128]", "f32[128,128]"));
}

TEST(BranchGrad, PoliciesReachIntoBranches) {
  const auto dots = [&](const RematPolicy& policy) {
    const LossFn loss = [&](const Tensors& p) {
      const RematScope scope(policy);
      return three_ways(p);
    };
    Graph g = gradient_of(loss, kThreeWays);
    run_passes(g, {}, Mesh());
    return count_ops(*g.trace, g.root, "dot_general");
  };
  EXPECT_EQ(dots(SaveEverything{}), 6);
  EXPECT_EQ(dots(SaveDots{}), 6);
  EXPECT_EQ(dots(SaveNothing{}), 8);
  EXPECT_EQ(dots(SaveRules{.rules = {{.op = "sin"}, {.op = "dot_general", .save = Save::recompute}}}), 8);
  EXPECT_EQ(dots(SaveRules{.rules = {{.op = "tanh"}}}), 7);
}

TEST(BranchGrad, ResultsAreNotSavedTwiceAndCheapWorkIsDoneAgain) {
  const Graph g = gradient_of(
      [](const Tensors& p) {
        const auto out = cond(
            flag(true), [&] { return Tensors{tanh(matmul(p[0], p[1]))}; }, [&] { return Tensors{sin(p[0]) * p[0]}; });
        return sum_all(out[0]);
      },
      {{4, 128}, {128, 128}});
  EXPECT_THAT(branch_results(g, g.root)[0], ElementsAre("f32[4,128]"));
}

// Layers of which every second has a product.
Tensor layered(const Tensors& p, const RematPolicy& policy) {
  const auto out = scan(
      [&](const Tensor& index, const Tensor& h, const Tensor& w) {
        const RematScope scope(policy);
        const Tensor odd = equal(rem(index, full_like(index, 2)), full_like(index, 1));
        const Tensors next = cond(
            odd, [&] { return Tensors{h + sin(tag(tanh(matmul(h, w)), "hidden"))}; }, [&] { return Tensors{h * 0.5}; });
        return std::pair<Tensor, Tensors>(next[0], {});
      },
      p[0], p[1]);
  return sum_all(out.first * out.first);
}
const std::vector<Dims> kLayers = {{4, 128}, {3, 128, 128}};

TEST(BranchGrad, LoopsStackWhatBranchesSave) {
  const auto look = [](const RematPolicy& policy) {
    const Graph g = gradient_of([&](const Tensors& p) { return layered(p, policy); }, kLayers);
    std::vector<std::string> stacked;
    for (const OpId id : g.trace->region(g.root).ops) {
      const OpInfo& op = g.trace->op(id);
      if (!is_scan(op)) continue;
      for (size_t i = 1; i < op.results.size(); ++i) stacked.push_back(to_string(g.trace->value(op.results[i]).type));
      break;
    }
    return std::pair(stacked, count_ops(*g.trace, g.root, "dot_general"));
  };
  const std::vector<std::string> carry{"f32[3,4,128]"}, both{"f32[3,4,128]", "f32[3,4,128]"};
  EXPECT_EQ(look({}), std::pair(both, int64_t{3}));
  EXPECT_EQ(look(SaveEverything{}).second, 3);
  EXPECT_EQ(look(SaveNothing{}), std::pair(carry, int64_t{4}));
  EXPECT_EQ(look(SaveTags{.device = {"hidden"}}), std::pair(both, int64_t{3}));
  EXPECT_EQ(look(SaveRules{.rules = {{.op = "tanh"}}}), std::pair(both, int64_t{3}));
}

TEST(BranchGrad, HostMemoryIsReachedOutsideTheBranch) {
  std::mt19937 rng(1);
  const std::vector<Literal> args{random_literal(rng, {2, 3}), random_literal(rng, {4, 3, 3})};
  const auto check = [&](const std::function<Tensor(const Tensors&, const RematPolicy&)>& loss) {
    const auto graph = [&](const RematPolicy& policy) {
      return gradient_graph([&](const Tensors& p) { return loss(p, policy); }, args);
    };
    Graph host = graph(SaveTags{.host = {"hidden"}});
    eliminate_dead_code(host);
    EXPECT_EQ(count_ops(*host.trace, host.root, "place"), 2);  // to the host and back
    for (OpId id = 0; id < host.trace->num_ops(); ++id) {
      if (!is_branch(host.trace->op(id))) continue;
      for (const RegionId branch : host.trace->op(id).regions) EXPECT_EQ(count_ops(*host.trace, branch, "place"), 0);
    }
    EXPECT_EQ(interpret(host, args), interpret(graph(SaveTags{.device = {"hidden"}}), args));
  };
  check(layered);
  check([](const Tensors& p, const RematPolicy& policy) {
    const RematScope scope(policy);
    return sum_all(
        switch_case(at(0), {[&] { return Tensors{sin(tag(exp(p[0]), "hidden"))}; }, [&] { return Tensors{p[0]}; }})[0]);
  });
}

TEST(BranchGrad, ALoopInABranchKeepsNothingOnTheHost) {
  const auto error = error_of([&] {
    const std::vector<Literal> args{Literal::from(DType::f64, {2}, std::vector<double>{1, 2})};
    gradient_graph(
        [](const Tensors& p) {
          current_trace().set_path("decoder.layers");
          const auto body = [](const Tensor&, const Tensor& h, const Tensors&) {
            const RematScope scope{RematPolicy(SaveTags{.host = {"hidden"}})};
            return std::pair<Tensor, Tensors>(exp(tag(sin(h), "hidden")), {});
          };
          const auto loop = [&] { return Tensors{scan(body, p[0], Tensors{}, 2).first}; };
          return sum_all(cond(flag(true), loop, [&] { return p; })[0]);
        },
        args);
  });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::unsupported);
  EXPECT_EQ(error->path(), "decoder.layers");
}

// Branches with several results: one that a branch doesn't make of the parameters, one without a cotangent, an integer.
Tensor several(const Tensors& p, const Tensor& index, const RematPolicy& policy = {}) {
  const RematScope scope(policy);
  const Tensor shared = exp(p[0] * 0.3);
  const auto three = zeros({DType::i32, {}});
  const Tensors out = switch_case(index, {[&] {
                                            const Tensor y = tag(tanh(shared * p[1]), "a");
                                            return Tensors{y * y, sin(y), three, p[0]};
                                          },
                                          [&] {
                                            const Tensor y = sin(matmul(expand_dims(shared, 0), expand_dims(p[1], 1)));
                                            return Tensors{zeros_like(p[0]), p[1] * reshape(y * y, {}), three + 1.0,
                                                           cos(p[0]) * reshape(y, {})};
                                          },
                                          [&] { return Tensors{p[0], tag(exp(sin(p[0]) * p[1]), "a"), three, p[1]}; }});
  return sum_all(out[0] * out[1]) + sum_all(sin(out[1]) * convert(out[2] + 2.0, DType::f64));
}

std::vector<Literal> pair_of_args(unsigned seed) {
  std::mt19937 rng(seed);
  return {random_literal(rng, {3}), random_literal(rng, {3})};
}

TEST(BranchGrad, EveryBranchAgainstDifferences) {
  for (const int64_t index : {0, 1, 2, 3, -1}) {
    EXPECT_EQ(check_gradients([&](const Tensors& p) { return several(p, at(index)); }, pair_of_args(2)), "") << index;
  }
}

TEST(BranchGrad, PoliciesChangeNoBit) {
  for (const int64_t index : {0, 1, 2}) {
    const std::vector<Literal> args = pair_of_args(3);
    const auto run = [&](const RematPolicy& policy) {
      return interpret(gradient_graph([&](const Tensors& p) { return several(p, at(index), policy); }, args), args);
    };
    const std::vector<Literal> want = run({});
    EXPECT_EQ(run(SaveEverything{}), want);
    EXPECT_EQ(run(SaveNothing{}), want);
    EXPECT_EQ(run(SaveDots{}), want);
    EXPECT_EQ(run(SaveTags{.device = {"a"}}), want);
    EXPECT_EQ(run(SaveTags{.host = {"a"}}), want);
  }
}

// A loss that holds a gradient, of branches in branches in loops, under each policy.
TEST(BranchGrad, SecondDerivatives) {
  std::mt19937 rng(4);
  const std::vector<Literal> args{random_literal(rng, {2}), random_literal(rng, {3, 2})};
  for (const RematPolicy& policy : {RematPolicy(), RematPolicy(SaveNothing{}), RematPolicy(SaveEverything{}),
                                    RematPolicy(SaveTags{.device = {"a"}})}) {
    const LossFn loss = [&](const Tensors& p) {
      const auto out = scan(
          [&](const Tensor& index, const Tensor& h, const Tensor& x) {
            const RematScope scope(policy);
            const auto inner = [&] {
              return cond(flag(true), [&] { return Tensors{tag(sin(h * x), "a") * h}; }, [&] { return Tensors{h}; });
            };
            const Tensors next = switch_case(index, {[&] { return Tensors{tanh(tag(sin(h) * p[0], "a"))}; }, inner,
                                                     [&] { return Tensors{h * x * x}; }});
            return std::pair<Tensor, Tensors>(next[0], {});
          },
          p[0], p[1]);
      return sum_all(out.first * out.first);
    };
    const LossFn outer = [&](const Tensors& p) {
      Tensor sum = zeros({DType::f64, {}});
      for (const Tensor& g : grad(loss, p)) sum = sum + sum_all(sin(g));
      return sum;
    };
    EXPECT_EQ(check_gradients(outer, args), "");
  }
}

}  // namespace
}  // namespace tenon
