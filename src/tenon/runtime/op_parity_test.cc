// Every op on the CPU plugin against the reference interpreter, on the cases of ir/testing/op_cases.h.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "tenon/autodiff/functional.h"
#include "tenon/ir/interpreter.h"
#include "tenon/ir/op_def.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/testing/op_cases.h"
#include "tenon/pjrt/plugin.h"
#include "tenon/runtime/executable.h"
#include "tenon/stablehlo/emit.h"

namespace tenon {
namespace {

using Cases = std::vector<const OpCase*>;

std::vector<Literal> run_on(const std::shared_ptr<const Backend>& backend, const Mesh& mesh, const Graph& graph,
                            const std::vector<Literal>& inputs) {
  Program p;
  EmitOptions options;
  options.mesh = mesh;
  p.text = emit_stablehlo(graph, options);
  p.num_devices = mesh.num_devices();
  p.arg_types = graph.param_types();
  p.result_types = graph.result_types();
  p.arg_specs.resize(p.arg_types.size());
  p.result_specs.resize(p.result_types.size());
  const Executable program = compile(backend, mesh, p);
  std::vector<Array> args;
  for (const Literal& x : inputs) args.push_back(Array::from_literal(backend, mesh, {}, x));
  std::vector<Literal> out;
  for (const Array& x : program(args)) out.push_back(x.to_literal());
  return out;
}

// Ops whose floats may differ in the last places: approximations, and sums in another order or with fused products.
const std::set<std::string_view> kApproximate = {"exp",   "expm1", "log",         "log1p",       "sqrt",
                                                 "rsqrt", "tanh",  "logistic",    "sin",         "cos",
                                                 "pow",   "rem",   "dot_general", "reduce_sum",  "reduce_prod",
                                                 "scan",  "while", "scatter_add", "convolution", "reduce_window_sum",
                                                 "erf",   "atan2", "custom_vjp",  "attention",   "attention_backward"};

double tolerance(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 1e-13;
    case DType::f32:
      return 1e-6;
    case DType::f16:
      return 0x1p-10;
    case DType::bf16:
      return 0x1p-7;
    case DType::f8e4m3fn:
      return 0x1p-3;
    default:
      return 0x1p-2;
  }
}

// Whether `got` is `want`, exactly or to the tolerance of its dtype.
bool agrees(const Literal& got, const Literal& want, int64_t i, bool approximate) {
  if (!is_float(want.dtype())) return got.as_int(i) == want.as_int(i);
  const double x = got.as_double(i), y = want.as_double(i);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  if (x == y) return std::signbit(x) == std::signbit(y) || approximate;
  return approximate && std::isfinite(y) && std::fabs(x - y) <= tolerance(want.dtype()) * std::max(1.0, std::fabs(y));
}

void expect_parity(const std::shared_ptr<const Backend>& backend, const Cases& cases) {
  const Graph graph = graph_of(cases);
  std::vector<Literal> inputs;
  for (const OpCase* c : cases) inputs.insert(inputs.end(), c->inputs.begin(), c->inputs.end());
  const std::vector<Literal> got = run_on(backend, cases[0]->mesh, graph, inputs), want = interpret(graph, inputs);
  ASSERT_EQ(got.size(), want.size());
  size_t next = 0;
  for (const OpCase* c : cases) {
    const size_t end = next + graph_of(*c).result_types().size();
    for (; next < end; ++next) {
      ASSERT_EQ(got[next].type(), want[next].type()) << c->name();
      for (int64_t i = 0; i < want[next].size(); ++i) {
        EXPECT_TRUE(agrees(got[next], want[next], i, kApproximate.contains(c->op)))
            << c->name() << ": element " << i << " is " << got[next].as_double(i) << ", the interpreter says "
            << want[next].as_double(i);
      }
    }
  }
}

// A quarter of the ops each, so that they can run side by side.
class OpParityQuarter : public ::testing::TestWithParam<size_t> {};

TEST_P(OpParityQuarter, CpuAgreesWithTheInterpreter) {
  if (!pjrt::find_plugin("cpu")) GTEST_SKIP() << "no CPU plugin is installed";
  const auto backend = Backend::open("cpu");
  std::map<std::string, Cases> by_op;
  for (const OpCase& c : op_cases()) {
    if (c.mesh.num_devices() == 1) by_op[c.op].push_back(&c);
  }
  size_t number = 0;
  for (const auto& [op, cases] : by_op) {
    if (number++ % 4 != GetParam()) continue;
    SCOPED_TRACE(op);
    ASSERT_NO_FATAL_FAILURE(expect_parity(backend, cases));
  }
}

INSTANTIATE_TEST_SUITE_P(All, OpParityQuarter, ::testing::Range<size_t>(0, 4));

TEST(OpParity, FourDevicesAgreeWithTheInterpreter) {
  if (!pjrt::find_plugin("cpu")) GTEST_SKIP() << "no CPU plugin is installed";
  Cases cases;
  for (const OpCase& c : op_cases()) {
    if (c.mesh.num_devices() > 1) cases.push_back(&c);
  }
  ASSERT_FALSE(cases.empty());
  for (const OpCase* c : cases) ASSERT_EQ(c->mesh, cases[0]->mesh) << c->name();
  expect_parity(Backend::open("cpu:4"), cases);
}

// Every collective's derivative, on devices as in the interpreter.
TEST(OpParity, GradientsOnFourDevicesAgreeWithTheInterpreter) {
  if (!pjrt::find_plugin("cpu")) GTEST_SKIP() << "no CPU plugin is installed";
  const Mesh mesh{{"data", 2}, {"model", 2}};
  const std::vector<Literal> args = {eighths({DType::f32, {4, 6}}), eighths({DType::f32, {6, 4}}, 1)};
  const std::vector<TensorType> types = {args[0].type(), args[1].type()};
  const Graph graph = make_graph(types, [&](const std::vector<Tensor>& p) {
    const auto loss = [&](const std::vector<Tensor>& q) {
      const std::vector<Tensor> out =
          manual(mesh, q, {{"data", "model"}, {"model"}}, {{"data"}}, [](const std::vector<Tensor>& x) {
            const Tensor product = all_reduce_sum(matmul(x[0], x[1]), "model");
            const Tensor moved = collective_permute(product, "data", {{0, 1}, {1, 0}}) * product;
            const Tensor turned = all_to_all(moved, "data", 1, 0);
            const Tensor whole = all_gather(reduce_scatter(turned, "model", 0), "model", 0);
            return std::vector<Tensor>{all_to_all(whole, "data", 0, 1)};
          });
      return sum_all(out[0] * out[0]);
    };
    return grad(loss, p);
  });
  const std::vector<Literal> got = run_on(Backend::open("cpu:4"), mesh, graph, args), want = interpret(graph, args);
  for (size_t i = 0; i < want.size(); ++i) {
    for (int64_t k = 0; k < want[i].size(); ++k) {
      EXPECT_NEAR(got[i].as_double(k), want[i].as_double(k), 1e-4 * std::max(1.0, std::fabs(want[i].as_double(k))));
    }
  }
}

// Branches that save values of their own for the backward pass, inside a loop: the steps take the branches in turn, and
// the last by an index outside.
TEST(OpParity, GradientsOfBranchesAgreeWithTheInterpreter) {
  if (!pjrt::find_plugin("cpu")) GTEST_SKIP() << "no CPU plugin is installed";
  const std::vector<Literal> args = {eighths({DType::f32, {2, 80}}), eighths({DType::f32, {4, 80, 80}}, 1)};
  const std::vector<TensorType> types = {args[0].type(), args[1].type()};
  const Graph graph = make_graph(types, [&](const std::vector<Tensor>& p) {
    using Tensors = std::vector<Tensor>;
    const auto loss = [](const Tensors& q) {
      const auto step = [](const Tensor& index, const Tensor& h, const Tensor& w) {
        const Tensors next =
            switch_case(index, {[&] { return Tensors{h + sin(tanh(matmul(h, w)))}; }, [&] { return Tensors{h * 0.5}; },
                                [&] { return Tensors{sin(matmul(h, w) * 0.125)}; }});
        return std::pair<Tensor, Tensors>(next[0], {});
      };
      return sum_all(scan(step, q[0] * 0.125, q[1] * 0.125).first);
    };
    return grad(loss, p);
  });
  const std::vector<Literal> got = run_on(Backend::open("cpu"), Mesh(), graph, args), want = interpret(graph, args);
  for (size_t i = 0; i < want.size(); ++i) {
    for (int64_t k = 0; k < want[i].size(); ++k) {
      EXPECT_NEAR(got[i].as_double(k), want[i].as_double(k), 1e-4 * std::max(1.0, std::fabs(want[i].as_double(k))));
    }
  }
}

}  // namespace
}  // namespace tenon
