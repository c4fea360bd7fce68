// What every row of the op table must keep, checked on the cases of cases/op_cases.h.
#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <set>

#include "tenon/ir/cases/op_cases.h"
#include "tenon/ir/interpreter.h"
#include "tenon/ir/op_def.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/ops/table.h"
#include "tenon/ir/verify.h"

namespace tenon {
namespace {

using ::testing::ElementsAre;

const OpDef* find_op(const std::string& name) {
  for (const OpDef* def : op_table()) {
    if (def->name == name) return def;
  }
  return nullptr;
}

// The op of the case's row in its graph: the last one of its name. Collectives stand in a manual region.
OpId find_in(const OpCase& c, const Trace& trace, RegionId region) {
  OpId found = kNoId;
  for (const OpId id : trace.region(region).ops) {
    const OpInfo& op = trace.op(id);
    if (op.def->name == c.op) found = id;
    if (is_manual(op) && found == kNoId) found = find_in(c, trace, op.regions[0]);
  }
  return found;
}
OpId op_of(const OpCase& c, const Trace& trace, RegionId region) {
  const OpId found = find_in(c, trace, region);
  EXPECT_NE(found, kNoId) << c.name() << " doesn't trace its op";
  return found;
}

std::vector<TensorType> input_types(const OpCase& c) {
  std::vector<TensorType> out;
  for (const Literal& x : c.inputs) out.push_back(x.type());
  return out;
}

TEST(OpContract, EveryOpHasCasesUnderItsNameOnce) {
  std::set<std::string> with_cases, rows, labels;
  for (const OpCase& c : op_cases()) {
    EXPECT_NE(find_op(c.op), nullptr) << c.op << " isn't in the table";
    EXPECT_TRUE(c.op == "constant" || labels.insert(c.name()).second) << c.name() << " is there twice";
    with_cases.insert(c.op);
  }
  for (const OpDef* def : op_table()) {
    EXPECT_TRUE(rows.emplace(def->name).second) << def->name << " is in the table twice";
    EXPECT_TRUE(with_cases.contains(std::string(def->name))) << def->name << " has no case in cases/";
  }
}

TEST(OpContract, WhatIsInferredIsWhatIsEvaluated) {
  for (const OpCase& c : op_cases()) {
    SCOPED_TRACE(c.name());
    const Graph graph = graph_of(c);
    verify(graph);
    bool seen = false;
    const auto results = interpret(graph, c.inputs, [&](const OpInfo& op, std::span<const Literal> values) {
      seen |= op.def->name == c.op;
      ASSERT_EQ(values.size(), op.results.size());
      for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i].type(), graph.trace->value(op.results[i]).type);
    });
    EXPECT_TRUE(seen);
    ASSERT_EQ(results.size(), graph.result_types().size());
    for (size_t i = 0; i < results.size(); ++i) EXPECT_EQ(results[i].type(), graph.result_types()[i]);
  }
}

TEST(OpContract, OpsWithoutGradientSayWhy) {
  for (const OpCase& c : op_cases()) {
    const Graph graph = graph_of(c);
    const OpInfo& op = graph.trace->op(op_of(c, *graph.trace, graph.root));
    if (op.def->vjp != nullptr || !op.def->vjp_note.empty() || op.operands.empty()) continue;
    for (const ValueId v : op.results) {
      const DType dtype = graph.trace->value(v).type.dtype;
      EXPECT_FALSE(is_float(dtype)) << c.op << " has neither vjp nor vjp_note";
    }
  }
}

// A program of the op's inputs and the results' cotangents that calls the row's vjp; returns, for each operand, whether
// it gets a cotangent, and these.
struct Gradient {
  Graph graph;
  std::vector<bool> present;
};
Gradient gradient_of(const OpCase& c, const std::vector<bool>& active) {
  Gradient out;
  std::vector<TensorType> params = input_types(c);
  const Graph forward = graph_of(c);
  const OpInfo& forward_op = forward.trace->op(op_of(c, *forward.trace, forward.root));
  for (const ValueId v : forward_op.results) params.push_back(forward.trace->value(v).type);
  out.graph = make_graph(params, [&](const std::vector<Tensor>& p) {
    const auto split = p.begin() + static_cast<int64_t>(c.inputs.size());
    c.build({p.begin(), split});
    Trace& trace = current_trace();
    const OpInfo op = trace.op(op_of(c, trace, trace.current_region()));
    VjpArgs args{op.attrs, {}, {}, {split, p.end()}, active, op.regions};
    for (const ValueId v : op.operands) args.operands.push_back(trace.tensor(v));
    for (const ValueId v : op.results) args.results.push_back(trace.tensor(v));
    args.active.resize(op.operands.size(), false);
    args.regions = op.regions;
    const std::vector<Tensor> all = op.def->vjp(args);
    EXPECT_EQ(all.size(), op.operands.size()) << "one cotangent per operand";
    std::vector<Tensor> cotangents;
    for (size_t i = 0; i < all.size(); ++i) {
      out.present.push_back(args.active[i] && all[i]);
      if (!out.present.back()) continue;
      EXPECT_EQ(all[i].type(), args.operands[i].type()) << "cotangent " << i;
      cotangents.push_back(all[i]);
    }
    return cotangents;
  });
  verify(out.graph);
  return out;
}

std::vector<bool> float_inputs(const OpCase& c) {
  std::vector<bool> out;
  for (const Literal& x : c.inputs) out.push_back(is_float(x.dtype()));
  return out;
}

// Cotangents of the operands, zero where there are none, from cotangents of the results: those given or arbitrary ones.
struct Pulled {
  std::vector<Literal> operands, results;
};
Pulled pull(const OpCase& c, const std::vector<bool>& active, std::vector<Literal> cotangents_in = {}) {
  const Gradient gradient = gradient_of(c, active);
  const std::vector<TensorType> types = gradient.graph.param_types();
  Pulled out{{}, std::move(cotangents_in)};
  for (size_t i = c.inputs.size() + out.results.size(); i < types.size(); ++i) {
    out.results.push_back(eighths(types[i], static_cast<int>(40 + i)));
  }
  std::vector<Literal> args = c.inputs;
  args.insert(args.end(), out.results.begin(), out.results.end());
  std::vector<Literal> cotangents = interpret(gradient.graph, args);
  size_t next = 0;
  for (size_t i = 0; i < gradient.present.size(); ++i) {
    if (!gradient.present[i] && i >= c.inputs.size()) continue;
    out.operands.push_back(gradient.present[i] ? std::move(cotangents[next++]) : Literal(c.inputs[i].type()));
  }
  return out;
}

double dot(const std::vector<Literal>& a, const std::vector<Literal>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    for (int64_t k = 0; k < a[i].size(); ++k) sum += a[i].as_double(k) * b[i].as_double(k);
  }
  return sum;
}

TEST(OpContract, GradientsAreCentralDifferences) {
  std::set<std::string> checked;
  for (const OpCase& c : op_cases()) {
    if (c.step == 0) continue;
    SCOPED_TRACE(c.name());
    ASSERT_NE(find_op(c.op)->vjp, nullptr);
    checked.insert(c.op);
    const Graph forward = graph_of(c);
    const Pulled pulled = pull(c, float_inputs(c));
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      if (!is_float(c.inputs[i].dtype())) continue;
      for (int64_t k = 0; k < c.inputs[i].size(); ++k) {
        std::vector<Literal> up = c.inputs, down = c.inputs;
        up[i].set(k, c.inputs[i].as_double(k) + c.step);
        down[i].set(k, c.inputs[i].as_double(k) - c.step);
        const double width = up[i].as_double(k) - down[i].as_double(k);
        const double numeric =
            (dot(pulled.results, interpret(forward, up)) - dot(pulled.results, interpret(forward, down))) / width;
        EXPECT_NEAR(pulled.operands[i].as_double(k), numeric, 1e-6 * std::max(1.0, std::fabs(numeric)))
            << "operand " << i << " element " << k;
      }
    }
  }
  // Derivatives of collectives are whole programs: autodiff/manual_grad_test.cc.
  for (const OpDef* def : collective_defs()) checked.emplace(def->name);
  for (const OpDef* def : op_table()) {
    if (def->vjp == nullptr || def->name == "stop_gradient") continue;
    EXPECT_TRUE(checked.contains(std::string(def->name))) << def->name << " has a vjp but no case with a step";
  }
}

// In every dtype a cotangent has its operand's type, and asking for one operand only gives what asking for all does.
TEST(OpContract, GradientsOfOneOperandAreThoseOfAll) {
  for (const OpCase& c : op_cases()) {
    if (find_op(c.op)->vjp == nullptr || c.label == "edges" || c.mesh.num_devices() > 1) continue;
    const std::vector<bool> floats = float_inputs(c);
    if (std::count(floats.begin(), floats.end(), true) == 0) continue;
    SCOPED_TRACE(c.name());
    const Graph forward = graph_of(c);
    const OpInfo& op = forward.trace->op(op_of(c, *forward.trace, forward.root));
    bool direct = is_float(forward.trace->value(op.results[0]).type.dtype);
    for (size_t i = 0; i < c.inputs.size(); ++i)
      direct &= op.operands[i] == forward.trace->region(forward.root).params[i];
    if (!direct) continue;  // the op is reached through conversions
    const Pulled all = pull(c, floats);
    for (size_t i = 0; i < floats.size(); ++i) {
      if (!floats[i]) continue;
      std::vector<bool> only(floats.size(), false);
      only[i] = true;
      EXPECT_EQ(pull(c, only).operands[i], all.operands[i]) << "operand " << i;
    }
  }
}

// ── at kinks: the documented choices ──

// Cotangents of the operands of `build` at `inputs`, for cotangents 1 of its result.
std::vector<std::vector<double>> slopes(const char* op, std::vector<std::vector<double>> inputs, TensorFn build) {
  OpCase c{op, "kink", {}, std::move(build)};
  for (const auto& x : inputs) c.inputs.push_back(Literal::from(DType::f64, {static_cast<int64_t>(x.size())}, x));
  Literal ones(graph_of(c).result_types().at(0));
  for (int64_t i = 0; i < ones.size(); ++i) ones.set(i, 1);
  std::vector<std::vector<double>> out;
  for (const Literal& x : pull(c, float_inputs(c), {ones}).operands) out.push_back(x.to_doubles());
  return out;
}
template <Tensor (*fn)(const Tensor&)>
std::vector<Tensor> unary(const std::vector<Tensor>& x) {
  return {fn(x[0])};
}
template <Tensor (*fn)(const Tensor&, const Tensor&)>
std::vector<Tensor> binary(const std::vector<Tensor>& x) {
  return {fn(x[0], x[1])};
}

TEST(Subgradient, OfSteps) {
  EXPECT_THAT(slopes("abs", {{-2, 0, 3}}, unary<tenon::abs>)[0], ElementsAre(-1, 0, 1));
  EXPECT_THAT(slopes("sign", {{-2, 0, 3}}, unary<sign>)[0], ElementsAre(0, 0, 0));
  EXPECT_THAT(slopes("floor", {{-1, 0.5, 3}}, unary<tenon::floor>)[0], ElementsAre(0, 0, 0));
  EXPECT_THAT(slopes("stop_gradient", {{1, 2}}, unary<stop_gradient>)[0], ElementsAre(0, 0));
}

TEST(Subgradient, IsSharedAtTies) {
  const auto maximum_slopes = slopes("maximum", {{1, 2, 3}, {3, 2, 1}}, binary<maximum>);
  EXPECT_THAT(maximum_slopes[0], ElementsAre(0, 0.5, 1));
  EXPECT_THAT(maximum_slopes[1], ElementsAre(1, 0.5, 0));
  const auto minimum_slopes = slopes("minimum", {{1, 2, 3}, {3, 2, 1}}, binary<minimum>);
  EXPECT_THAT(minimum_slopes[0], ElementsAre(1, 0.5, 0));
  EXPECT_THAT(minimum_slopes[1], ElementsAre(0, 0.5, 1));
  const auto all = [](Tensor (*reduce)(const Tensor&, Dims)) {
    return [reduce](const std::vector<Tensor>& x) { return std::vector<Tensor>{reduce(x[0], {0})}; };
  };
  EXPECT_THAT(slopes("reduce_max", {{5, 1, 5, 2}}, all(reduce_max))[0], ElementsAre(0.5, 0, 0.5, 0));
  EXPECT_THAT(slopes("reduce_min", {{3, 1, 1, 1, 1}}, all(reduce_min))[0], ElementsAre(0, 0.25, 0.25, 0.25, 0.25));
}

TEST(Subgradient, OfPowerAtZero) {
  const auto power = slopes("pow", {{0, 0, 0, 2}, {0, 1, 2, 0}}, binary<tenon::pow>);
  EXPECT_THAT(power[0], ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(power[1], ElementsAre(0, 0, 0, std::log(2.0)));
}

}  // namespace
}  // namespace tenon
