#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tenon/autodiff/functional.h"
#include "tenon/autodiff/remat.h"
#include "tenon/ir/interpreter.h"
#include "tenon/ir/op_def.h"
#include "tenon/ir/ops.h"
#include "tenon/passes/dce.h"

namespace tenon {
namespace {

using Loss = std::function<Tensor(const std::vector<Tensor>&)>;

Literal random_literal(std::mt19937& rng, const Dims& dims) {
  std::normal_distribution<double> normal;
  std::vector<double> values(static_cast<size_t>(num_elements(dims)));
  for (double& v : values) v = normal(rng);
  return Literal::from(DType::f64, dims, std::span<const double>(values));
}

std::vector<TensorType> types_of(const std::vector<Literal>& args) {
  std::vector<TensorType> out;
  for (const Literal& a : args) out.push_back(a.type());
  return out;
}

Graph gradient_graph(const Loss& loss, const std::vector<Literal>& args) {
  return make_graph(types_of(args), [&](const std::vector<Tensor>& p) {
    const auto both = value_and_grad(
        [&](const std::vector<Tensor>& q) { return std::pair<Tensor, std::vector<Tensor>>(loss(q), {}); }, p);
    std::vector<Tensor> out{both.value};
    out.insert(out.end(), both.grads.begin(), both.grads.end());
    return out;
  });
}

// Every gradient element against a central difference of the interpreted loss.
void expect_gradients(const Loss& loss, std::vector<Literal> args) {
  const Graph f = make_graph(types_of(args), [&](const std::vector<Tensor>& p) { return std::vector<Tensor>{loss(p)}; });
  const std::vector<Literal> got = interpret(gradient_graph(loss, args), args);
  EXPECT_EQ(got[0].as_double(0), interpret(f, args)[0].as_double(0));
  const double h = 1e-5;
  for (size_t a = 0; a < args.size(); ++a) {
    for (int64_t i = 0; i < args[a].size(); ++i) {
      const double x = args[a].as_double(i);
      args[a].set(i, x + h);
      const double up = interpret(f, args)[0].as_double(0);
      args[a].set(i, x - h);
      const double down = interpret(f, args)[0].as_double(0);
      args[a].set(i, x);
      const double want = (up - down) / (2 * h);
      EXPECT_NEAR(got[a + 1].as_double(i), want, 1e-6 * std::max(1.0, std::fabs(want))) << "argument " << a << " element " << i;
    }
  }
}

TEST(Grad, Perceptron) {
  std::mt19937 rng(1);
  expect_gradients(
      [](const std::vector<Tensor>& p) {
        const Tensor h = tanh(matmul(p[0], p[1]) + p[2]);
        return sum_all(h * h);
      },
      {random_literal(rng, {3, 4}), random_literal(rng, {4, 2}), random_literal(rng, {2})});
}

// A carried state, stacked inputs and outputs, a captured value, and the index.
Tensor recurrent_loss(const std::vector<Tensor>& p) {
  const auto [last, ys] = scan(
      [&](const Tensor& index, const Tensor& h, const Tensor& x) {
        const Tensor position = convert(index, DType::f64);
        const Tensor next = tanh(matmul(h, p[2]) + x * (position + 1.0));
        return std::pair<Tensor, Tensor>(next, logistic(next * next));
      },
      p[0], p[1]);
  return sum_all(last * last) + sum_all(ys * ys * ys);
}

TEST(Grad, Scan) {
  std::mt19937 rng(2);
  expect_gradients(recurrent_loss, {random_literal(rng, {2, 3}), random_literal(rng, {4, 2, 3}), random_literal(rng, {3, 3})});
}

TEST(Grad, ScanInReverse) {
  std::mt19937 rng(3);
  expect_gradients(
      [](const std::vector<Tensor>& p) {
        const auto out = scan(
            [](const Tensor&, const Tensor& h, const Tensor& x) { return std::pair<Tensor, Tensor>(h * x + sin(h), h * h); },
            p[0], p[1], {}, true);
        return sum_all(out.first) + sum_all(out.second * p[1]);
      },
      {random_literal(rng, {2}), random_literal(rng, {3, 2})});
}

TEST(Grad, NestedScan) {
  std::mt19937 rng(4);
  expect_gradients(
      [](const std::vector<Tensor>& p) {
        const auto outer = scan(
            [&](const Tensor&, const Tensor& h, const Tensor& row) {
              const auto inner = scan(
                  [&](const Tensor&, const Tensor& g, const Tensor& x) {
                    return std::pair<Tensor, std::vector<Tensor>>(tanh(g * p[2] + x * h), {});
                  },
                  h, row);
              return std::pair<Tensor, Tensor>(inner.first, h);
            },
            p[0], p[1]);
        return sum_all(outer.first * outer.first) + sum_all(sin(outer.second));
      },
      {random_literal(rng, {2}), random_literal(rng, {3, 2, 2}), random_literal(rng, {2})});
}

TEST(Grad, Cond) {
  std::mt19937 rng(5);
  for (const double sign : {1.0, -1.0}) {
    expect_gradients(
        [&](const std::vector<Tensor>& p) {
          const Tensor positive = greater(full({DType::f64, {}}, sign), zeros({DType::f64, {}}));
          const auto out = cond(
              positive, [&] { return std::vector<Tensor>{p[0] * p[1]}; }, [&] { return std::vector<Tensor>{exp(p[1])}; });
          return sum_all(out[0]);
        },
        {random_literal(rng, {3}), random_literal(rng, {3})});
  }
}

TEST(Grad, OfGradient) {
  std::mt19937 rng(6);
  expect_gradients(
      [](const std::vector<Tensor>& p) {
        const Tensor g = grad([](const Tensor& x) { return sum_all(x * x * x + sin(x)); }, p[0]);
        return sum_all(g * g);
      },
      {random_literal(rng, {3})});
}

TEST(Grad, SharedAndUnusedParameters) {
  std::mt19937 rng(7);
  expect_gradients([](const std::vector<Tensor>& p) { return sum_all(p[0] * p[0] + exp(p[0])); },
                   {random_literal(rng, {3}), random_literal(rng, {2})});
}

TEST(Grad, IntegersGetNone) {
  const Graph g = make_graph(std::vector<TensorType>{{DType::f64, {2}}, {DType::i32, {2}}}, [](const std::vector<Tensor>& p) {
    const auto both = value_and_grad(
        [](const std::vector<Tensor>& q) {
          return std::pair<Tensor, std::vector<Tensor>>(sum_all(q[0] * convert(q[1], DType::f64)), {});
        },
        p);
    EXPECT_FALSE(both.grads[1]);
    return std::vector<Tensor>{both.grads[0]};
  });
  EXPECT_EQ(g.result_types()[0], (TensorType{DType::f64, {2}}));
}

TEST(Grad, ErrorsNameTheOp) {
  const auto build = [](const Loss& loss) {
    make_graph(std::vector<TensorType>{{DType::f32, {2}}}, [&](const std::vector<Tensor>& p) {
      current_trace().set_path("decoder.ffn");
      return std::vector<Tensor>{grad([&](const Tensor& x) { return loss({x}); }, p[0])};
    });
  };
  try {
    build([](const std::vector<Tensor>& p) { return sum_all(sort(p[0], 0)); });
    FAIL() << "sort has no gradient";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::not_differentiable);
    EXPECT_EQ(e.path(), "decoder.ffn");
    EXPECT_NE(std::string(e.what()).find("'sort'"), std::string::npos);
  }
  try {
    build([](const std::vector<Tensor>& p) { return p[0]; });
    FAIL() << "not a scalar";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::shape_mismatch);
  }
}

Tensor layered_loss(const std::vector<Tensor>& p, const RematPolicy& policy) {
  const auto out = scan(
      [&](const Tensor&, const Tensor& h, const Tensor& w) {
        const RematScope scope(policy);
        const Tensor hidden = tag(tanh(matmul(h, w)), "hidden");
        return std::pair<Tensor, std::vector<Tensor>>(h + matmul(hidden * hidden, w), {});
      },
      p[0], p[1]);
  return sum_all(out.first * out.first);
}

int64_t count_ops(const Trace& trace, RegionId region, std::string_view name) {
  int64_t count = 0;
  for (OpId id : trace.region(region).ops) {
    const OpInfo& op = trace.op(id);
    count += op.def->name == name;
    for (RegionId inner : op.regions) count += count_ops(trace, inner, name);
  }
  return count;
}

TEST(Remat, PoliciesAgreeToTheBitAndRecompute) {
  std::mt19937 rng(8);
  const std::vector<Literal> args{random_literal(rng, {2, 3}), random_literal(rng, {4, 3, 3})};
  std::vector<std::vector<Literal>> results;
  std::vector<int64_t> dots;
  for (const RematPolicy& policy : {RematPolicy(SaveEverything{}), RematPolicy(SaveNothing{}), RematPolicy(SaveTags{.device = {"hidden"}})}) {
    Graph g = gradient_graph([&](const std::vector<Tensor>& p) { return layered_loss(p, policy); }, args);
    eliminate_dead_code(g);
    dots.push_back(count_ops(*g.trace, g.root, "dot_general"));
    results.push_back(interpret(g, args));
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
  EXPECT_EQ(dots[0], 6);  // two forward, four backward
  EXPECT_EQ(dots[1], 7);  // the first is done again; the second isn't needed
  EXPECT_EQ(dots[2], 6);
}

TEST(Remat, BarrierOutsideLoops) {
  std::mt19937 rng(9);
  const std::vector<Literal> args{random_literal(rng, {2, 3}), random_literal(rng, {3, 3})};
  const auto barriers = [&](const RematPolicy& policy) {
    Graph g = gradient_graph(
        [&](const std::vector<Tensor>& p) {
          const RematScope scope(policy);
          return sum_all(tanh(matmul(tanh(p[0]), p[1])));
        },
        args);
    eliminate_dead_code(g);
    return count_ops(*g.trace, g.root, "optimization_barrier");
  };
  EXPECT_EQ(barriers(SaveEverything{}), 0);
  EXPECT_EQ(barriers(SaveNothing{}), 1);
}

}  // namespace
}  // namespace tenon
