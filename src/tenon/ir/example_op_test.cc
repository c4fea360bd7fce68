// The op that docs/adding_an_op.md adds, here outside the table. The guide quotes this file; op_docs_test.cc compares.
#include <gmock/gmock.h>

#include <cmath>

#include "tenon/ir/cases/case_list.h"
#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/ops/support.h"
#include "tenon/ir/testing/errors.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

// ── the row ──
std::vector<TensorType> infer_cbrt(const InferArgs& a) {
  if (!is_float(a.operands[0].dtype)) shape_error("needs a float, got {}", to_string(a.operands[0]));
  return {a.operands[0]};
}
void print_cbrt(HloWriter& w, const OpInfo& op) { print_same(w, op, "cbrt"); }
std::vector<Literal> eval_cbrt(const EvalArgs& a) {
  Literal out(a.results[0]);
  for (int64_t i = 0; i < out.size(); ++i) out.set(i, std::cbrt(a.operand(0).as_double(i)));
  return {std::move(out)};
}
std::vector<Tensor> vjp_cbrt(const VjpArgs& a) {
  const Tensor& y = a.results[0];
  return {a.cotangent() / (3.0 * y * y)};
}
const OpDef kCbrt{"cbrt", infer_cbrt, print_cbrt, eval_cbrt, vjp_cbrt};

// ── the function ──
// The cube root. Gradient at 0: infinite.
Tensor cbrt(const Tensor& x) { return emit1(kCbrt, {x}); }

// ── the cases ──
void add_cbrt(CaseList& list) {
  for (const DType dtype : kFloats) {
    const TensorType type{dtype, {2, 3}};
    list.add(
        "cbrt", to_string(type), {sample(type, 0.3, 4)},
        [](const std::vector<Tensor>& x) { return std::vector<Tensor>{cbrt(x[0])}; },
        dtype == DType::f64 ? kSmooth : 0);
  }
  list.add("cbrt", "edges", {floats(DType::f32, {4}, {0, -0.0, -8, INFINITY})},
           [](const std::vector<Tensor>& x) { return std::vector<Tensor>{cbrt(x[0])}; });
}

TEST(ExampleOp, Works) {
  CaseList list;
  add_cbrt(list);
  for (const OpCase& c : list.take()) {
    const Graph graph = graph_of(c);
    const Literal y = interpret(graph, c.inputs)[0];
    for (int64_t i = 0; i < y.size(); ++i) {
      const double back = std::pow(y.as_double(i), 3), x = c.inputs[0].as_double(i);
      if (c.label == "edges") {
        EXPECT_EQ(back, x);
      } else if (c.inputs[0].dtype() == DType::f64) {
        EXPECT_NEAR(back, x, 1e-14 * std::fabs(x));
      }
    }
    HloWriter w(*graph.trace, nullptr, false);
    w.bind(graph.trace->region(graph.root).params[0], "%x");
    w.body(graph.root);
    EXPECT_THAT(w.take(), HasSubstr("%0 = stablehlo.cbrt %x : tensor<"));
  }
  const std::vector<TensorType> types = {{DType::f64, {1}}};
  const Graph slope = make_graph(types, [](const std::vector<Tensor>& p) {
    const Tensor y = cbrt(p[0]);
    return vjp_cbrt({{}, {p[0]}, {y}, {full_like(y, 1)}, {true}});
  });
  EXPECT_NEAR(interpret(slope, std::vector<Literal>{floats(DType::f64, {1}, {8})})[0].as_double(0), 1.0 / 12, 1e-15);
  const auto e =
      error_of([] { make_graph({}, [](const auto&) { return std::vector<Tensor>{cbrt(zeros({DType::i32, {}}))}; }); });
  ASSERT_TRUE(e);
  EXPECT_EQ(e->code(), ErrorCode::shape_mismatch);
}

}  // namespace
}  // namespace tenon
