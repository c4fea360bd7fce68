// Every op on the CPU plugin against the reference interpreter, on the cases of ir/cases/op_cases.h.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tenon/autodiff/functional.h"
#include "tenon/conformance/op_check.h"
#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"
#include "tenon/pjrt/plugin.h"

namespace tenon {
namespace {

using Cases = std::vector<const OpCase*>;

// Runs the passes on `graph`.
std::vector<Literal> run_on(const std::shared_ptr<const Backend>& backend, const Mesh& mesh, Graph& graph,
                            const std::vector<Literal>& inputs) {
  ProgramSpec spec;
  spec.mesh = mesh;
  return Jitted(backend, compile(backend, mesh, make_program(graph, spec)))(inputs);
}

// One client of four devices for all.
const CheckMachine& cpu() {
  static const CheckMachine machine = CheckMachine::open_devices(CheckSubject::parse("cpu"));
  return machine;
}

void expect_parity(const Cases& cases) {
  for (const auto& [place, words] : check_cases(cpu(), cases)) ADD_FAILURE() << cases[place]->name() << ": " << words;
}

// A quarter of the ops each, so that they can run side by side.
class OpParityQuarter : public ::testing::TestWithParam<size_t> {};

TEST_P(OpParityQuarter, CpuAgreesWithTheInterpreter) {
  if (!pjrt::find_plugin("cpu")) GTEST_SKIP() << "no CPU plugin is installed";
  std::map<std::string, Cases> by_op;
  for (const OpCase& c : op_cases()) {
    if (c.mesh.num_devices() == 1) by_op[c.op].push_back(&c);
  }
  size_t number = 0;
  for (const auto& [op, cases] : by_op) {
    if (number++ % 4 != GetParam()) continue;
    SCOPED_TRACE(op);
    expect_parity(cases);
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
  expect_parity(cases);
}

// Every collective's derivative, on devices as in the interpreter.
TEST(OpParity, GradientsOnFourDevicesAgreeWithTheInterpreter) {
  if (!pjrt::find_plugin("cpu")) GTEST_SKIP() << "no CPU plugin is installed";
  const Mesh mesh{{"data", 2}, {"model", 2}};
  const std::vector<Literal> args = {eighths({DType::f32, {4, 6}}), eighths({DType::f32, {6, 4}}, 1)};
  const std::vector<TensorType> types = {args[0].type(), args[1].type()};
  Graph graph = make_graph(types, [&](const std::vector<Tensor>& p) {
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
  const std::vector<Literal> want = interpret(graph, args), got = run_on(Backend::open("cpu:4"), mesh, graph, args);
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
  Graph graph = make_graph(types, [&](const std::vector<Tensor>& p) {
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
  const std::vector<Literal> want = interpret(graph, args), got = run_on(Backend::open("cpu"), Mesh(), graph, args);
  for (size_t i = 0; i < want.size(); ++i) {
    for (int64_t k = 0; k < want[i].size(); ++k) {
      EXPECT_NEAR(got[i].as_double(k), want[i].as_double(k), 1e-4 * std::max(1.0, std::fabs(want[i].as_double(k))));
    }
  }
}

}  // namespace
}  // namespace tenon
