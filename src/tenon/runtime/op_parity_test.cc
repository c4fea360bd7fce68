// Every op on the CPU plugin against the reference interpreter, on the cases of ir/testing/op_cases.h.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "tenon/ir/interpreter.h"
#include "tenon/ir/op_def.h"
#include "tenon/ir/testing/op_cases.h"
#include "tenon/pjrt/plugin.h"
#include "tenon/runtime/executable.h"
#include "tenon/stablehlo/emit.h"

namespace tenon {
namespace {

using Cases = std::vector<const OpCase*>;

std::vector<Literal> run_on(const std::shared_ptr<const Backend>& backend, const Graph& graph,
                            const std::vector<Literal>& inputs) {
  Program p;
  p.text = emit_stablehlo(graph, {});
  p.arg_types = graph.param_types();
  p.result_types = graph.result_types();
  p.arg_specs.resize(p.arg_types.size());
  p.result_specs.resize(p.result_types.size());
  const Executable program = compile(backend, Mesh(), p);
  std::vector<Array> args;
  for (const Literal& x : inputs) args.push_back(Array::from_literal(backend, Mesh(), {}, x));
  std::vector<Literal> out;
  for (const Array& x : program(args)) out.push_back(x.to_literal());
  return out;
}

// Ops whose floats may differ in the last places: approximations, and sums in another order or with fused products.
const std::set<std::string_view> kApproximate = {
    "exp", "expm1", "log",         "log1p",      "sqrt",        "rsqrt", "tanh",  "logistic",         "sin", "cos",
    "pow", "rem",   "dot_general", "reduce_sum", "reduce_prod", "scan",  "while", "scatter_add", "convolution", "reduce_window_sum", "erf", "atan2"};

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
  const std::vector<Literal> got = run_on(backend, graph, inputs), want = interpret(graph, inputs);
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

TEST(OpParity, CpuAgreesWithTheInterpreter) {
  if (!pjrt::find_plugin("cpu")) GTEST_SKIP() << "no CPU plugin is installed";
  const auto backend = Backend::open("cpu");
  std::map<std::string, Cases> by_op;
  for (const OpCase& c : op_cases()) by_op[c.op].push_back(&c);
  for (const auto& [op, cases] : by_op) {
    SCOPED_TRACE(op);
    ASSERT_NO_FATAL_FAILURE(expect_parity(backend, cases));
  }
}

}  // namespace
}  // namespace tenon
