#include "tenon/passes/cse.h"

#include <gtest/gtest.h>

#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/ops/custom_call.h"
#include "tenon/ir/verify.h"
#include "tenon/passes/dce.h"
#include "tenon/passes/testing/ops_of.h"
#include "tenon/passes/testing/special_values.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;

const TensorType kSquare{DType::f32, {2, 2}};
const std::vector<TensorType> kOne{kSquare}, kTwo{kSquare, kSquare};

// The ops of a program before and after, none of its results changed.
void expect_merged(const std::vector<TensorType>& inputs, const TensorFn& body, const char* before, const char* after) {
  SCOPED_TRACE(after);
  Graph graph = make_graph(inputs, body);
  EXPECT_EQ(ops_of(graph), before);
  const std::vector<Literal> args = special_values(inputs, 1), want = interpret(graph, args);
  eliminate_common_subexpressions(graph);
  eliminate_dead_code(graph);
  verify(graph);
  EXPECT_EQ(ops_of(graph), after);
  EXPECT_EQ(interpret(graph, args), want);
}
void expect_kept(const std::vector<TensorType>& inputs, const TensorFn& body, const char* ops) {
  expect_merged(inputs, body, ops, ops);
}

Tensor in_scan(const Tensor& x, const std::function<Tensor(const Tensor&)>& step) {
  const std::vector<TensorType> params{{DType::i32, {}}, x.type()};
  const RegionId body = trace_region(current_trace(), params, [&](const Tensors& p) { return Tensors{step(p[1])}; });
  return scan_op(body, 2, {x}, {})[0];
}

TEST(Cse, EqualOpsOnEqualValues) {
  const TensorFn twice = [](const Tensors& x) { return Tensors{tanh(x[0] * x[1]), exp(tanh(x[0] * x[1]))}; };
  expect_merged(kTwo, twice, "mul tanh mul tanh exp", "mul tanh exp");
  expect_kept(kTwo, [](const Tensors& x) { return Tensors{x[0] * x[1], x[1] / x[0], x[0] / x[1]}; }, "mul div div");
}

TEST(Cse, AttributesCount) {
  const TensorFn cuts = [](const Tensors& x) {
    return Tensors{slice_dim(x[0], 0, 0, 1), slice_dim(x[0], 0, 1, 2), slice_dim(x[0], 0, 0, 1)};
  };
  expect_merged(kOne, cuts, "slice slice slice", "slice slice");
  expect_kept(
      kTwo, [](const Tensors& x) { return Tensors{less(x[0], x[1]), less_equal(x[0], x[1])}; }, "compare compare");
}

TEST(Cse, ConstantsByBitsAndType) {
  const auto scalar = [](DType dtype, double value) { return constant(Literal::scalar(dtype, value)); };
  const TensorFn equal = [&](const Tensors&) { return Tensors{scalar(DType::f32, 2), scalar(DType::f32, 2)}; };
  expect_merged({}, equal, "constant constant", "constant");
  const TensorFn zeros = [&](const Tensors&) { return Tensors{scalar(DType::f32, 0), scalar(DType::f32, -0.0)}; };
  expect_kept({}, zeros, "constant constant");
  const TensorFn types = [&](const Tensors&) { return Tensors{scalar(DType::f32, 1), scalar(DType::f64, 1)}; };
  expect_kept({}, types, "constant constant");
  const TensorFn nans = [&](const Tensors&) { return Tensors{scalar(DType::f32, NAN), scalar(DType::f32, NAN)}; };
  expect_merged({}, nans, "constant constant", "constant");
}

TEST(Cse, ALoopReadsWhatIsDearFromOutside) {
  const TensorFn dear = [](const Tensors& x) {
    const Tensor outside = matmul(x[0], x[1]);
    return Tensors{in_scan(x[0], [&](const Tensor& h) { return h + matmul(x[0], x[1]) + matmul(h, x[1]); }), outside};
  };
  expect_merged(kTwo, dear, "scan{dot_general add dot_general add} dot_general",
                "scan{dot_general add dot_general add} dot_general");
  // Only where it comes first.
  const TensorFn first = [](const Tensors& x) {
    const Tensor outside = matmul(x[0], x[1]);
    return Tensors{outside, in_scan(x[0], [&](const Tensor& h) { return h + matmul(x[0], x[1]) + matmul(h, x[1]); })};
  };
  expect_merged(kTwo, first, "dot_general scan{dot_general add dot_general add}",
                "dot_general scan{add dot_general add}");
  const TensorFn cheap = [](const Tensors& x) {
    return Tensors{x[0] * 2.0, in_scan(x[1], [&](const Tensor& h) { return h + x[0] * 2.0 - x[0] * 2.0; })};
  };
  expect_merged(
      kTwo, cheap,
      "constant broadcast_in_dim mul scan{constant broadcast_in_dim mul add constant broadcast_in_dim mul sub}",
      "constant broadcast_in_dim mul scan{constant broadcast_in_dim mul add sub}");
}

TEST(Cse, NothingComesOutOfARegion) {
  const TensorFn branches = [](const Tensors& x) {
    const Tensor yes = less(sum_all(x[0]), sum_all(x[1]));
    const auto branch = [&] { return Tensors{matmul(x[0], x[1])}; };
    Tensors out = cond(yes, branch, branch);
    out.push_back(matmul(x[0], x[1]));
    return out;
  };
  expect_kept(kTwo, branches, "reduce_sum reduce_sum compare cond{dot_general}{dot_general} dot_general");
}

TEST(Cse, NothingGoesIntoAManualRegion) {
  const TensorFn body = [](const Tensors& x) {
    const Tensor outside = reduce_sum(iota(kSquare, 0), {0, 1});
    const Tensor inside = manual(Mesh(), {x[0]}, {{}}, {{}}, [](const Tensors& p) {
      return Tensors{p[0] + broadcast_to(reduce_sum(iota(kSquare, 0), {0, 1}), {2, 2})};
    })[0];
    return Tensors{outside, inside};
  };
  expect_kept(kOne, body, "iota reduce_sum manual{iota reduce_sum broadcast_in_dim add}");
}

TEST(Cse, CollectivesStayApart) {
  const TensorFn body = [](const Tensors& x) {
    return manual(Mesh{{"data", 2}}, {x[0]}, {{"data"}}, {{"data"}}, [](const Tensors& p) {
      return Tensors{all_reduce_sum(p[0], {"data"}) - all_reduce_sum(p[0], {"data"})};
    });
  };
  expect_kept(kOne, body, "manual{all_reduce_sum all_reduce_sum sub}");
}

// What is done again on purpose reads its inputs through a barrier.
TEST(Cse, BarriersAndPlacesStayApart) {
  const TensorFn again = [](const Tensors& x) {
    return Tensors{tanh(x[0]), tanh(optimization_barrier({x[0]})[0]), tanh(optimization_barrier({x[0]})[0])};
  };
  expect_kept(kOne, again, "tanh optimization_barrier tanh optimization_barrier tanh");
  expect_kept(kOne, [](const Tensors& x) { return Tensors{to_host(x[0]), to_host(x[0])}; }, "place place");
}

TEST(Cse, CustomCallsStayApart) {
  Graph graph = make_graph(kOne, [](const Tensors& x) {
    return Tensors{custom_call({"f", ""}, x, kOne)[0] - custom_call({"f", ""}, x, kOne)[0]};
  });
  eliminate_common_subexpressions(graph);
  EXPECT_EQ(ops_of(graph), "custom_call custom_call sub");
}

TEST(Cse, RematScopesOfALoopKeepTheirOwn) {
  const TensorFn body = [](const Tensors& x) {
    const Tensor outside = matmul(x[0], x[1]);
    const auto step = [&](const Tensor& h) {
      const MarkScope mark(current_trace(), {0, current_trace().add_remat_scope({})});
      return matmul(x[0], x[1]) + h;
    };
    return Tensors{outside, in_scan(x[0], step)};
  };
  expect_kept(kTwo, body, "dot_general scan{dot_general add}");
}

TEST(Cse, OfManyOpsIsQuick) {
  const std::vector<TensorType> inputs{{DType::f32, {}}};
  Graph graph = make_graph(inputs, [](const Tensors& x) {
    Tensor a = x[0], b = x[0];
    for (int i = 0; i < 5000; ++i) {
      a = sin(a);
      b = sin(b);
    }
    return Tensors{a - b};
  });
  eliminate_common_subexpressions(graph);
  eliminate_dead_code(graph);
  EXPECT_EQ(graph.trace->region(graph.root).ops.size(), 5001U);
}

}  // namespace
}  // namespace tenon
