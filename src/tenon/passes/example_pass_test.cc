// The rule and the pass that docs/adding_a_pass.md adds, here outside the tables. The guide quotes this file;
// pass_docs_test.cc compares.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>

#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/verify.h"
#include "tenon/passes/dce.h"
#include "tenon/passes/pipeline.h"
#include "tenon/passes/rewrite.h"
#include "tenon/passes/simplify.h"
#include "tenon/passes/splat.h"
#include "tenon/passes/testing/ops_of.h"
#include "tenon/passes/testing/special_values.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;

// ── the rule ──
// The sign doesn't matter to the magnitude.
Tensor magnitude_of_negation(Trace& trace, const OpInfo& op) {
  const OpInfo* inner = maker(trace.tensor(op.operands[0]), "neg");
  return inner == nullptr ? Tensor() : abs(trace.tensor(inner->operands[0]));
}
const SimplifyRule kMagnitudeOfNegation{"magnitude_of_negation", "abs(-x) is abs(x), of floats", "abs",
                                        magnitude_of_negation};

// ── the pass ──
// Divisions by a power of two become multiplications, which are as exact and cheaper.
class PowersOfTwo : public Rewriter {
 public:
  using Rewriter::Rewriter;

 private:
  std::vector<Tensor> visit(OpId id) override {
    const OpInfo& op = trace().op(id);
    if (op.def->name != "div") return {};
    const Tensor x = trace().tensor(op.operands[0]), y = trace().tensor(op.operands[1]);
    const Literal* by = is_float(y.dtype()) ? splat_constant(y) : nullptr;
    int exponent = 0;
    if (by == nullptr || std::fabs(std::frexp(by->as_double(0), &exponent)) != 0.5 || std::abs(exponent) > 4) return {};
    return {x * (1 / by->as_double(0))};
  }
};
void multiply_by_powers_of_two(Graph& graph) { PowersOfTwo(graph).run(); }
const Pass kPowersOfTwo{"multiply_by_powers_of_two", "multiplies where a division is by a power of two",
                        [](Graph& graph, PassContext&) { multiply_by_powers_of_two(graph); }};

// ── the test ──
// The ops that are left of a function of one array, and that it still computes the same.
std::string after(const std::function<void(Graph&)>& run, const std::function<Tensor(const Tensor&)>& body) {
  const std::vector<TensorType> inputs{{DType::f32, {64}}};
  Graph graph = make_graph(inputs, [&](const Tensors& x) { return Tensors{body(x[0])}; });
  const std::vector<Literal> args = special_values(inputs, 1), want = interpret(graph, args);
  run(graph);
  eliminate_dead_code(graph);
  verify(graph);
  EXPECT_TRUE(same_results(interpret(graph, args), want));
  return ops_of(graph);
}

TEST(ExamplePass, Works) {
  const auto run = [](Graph& graph) {
    PassContext context{{}, Mesh()};
    kPowersOfTwo.run(graph, context);
  };
  EXPECT_EQ(after(run, [](const Tensor& x) { return x / -8.0; }), "constant broadcast_in_dim mul");
  EXPECT_EQ(after(run, [](const Tensor& x) { return x / 3.0; }), "constant broadcast_in_dim div");
}

TEST(ExampleRule, Works) {
  const auto run = [](Graph& graph) { simplify(graph, {&kMagnitudeOfNegation, 1}); };
  EXPECT_EQ(after(run, [](const Tensor& x) { return abs(-x); }), "abs");
  EXPECT_EQ(after(run, [](const Tensor& x) { return abs(sin(x)); }), "sin abs");
}

}  // namespace
}  // namespace tenon
