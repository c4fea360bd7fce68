// Mixtures of experts against transformers: outputs and every gradient (tests/fixtures/make_mixture_fixture.py).
#include <gtest/gtest.h>

#include "compiled.h"
#include "fixture.h"
#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/experts/mixture_of_experts.h"
#include "tenon/nn/functional.h"
#include "tenon/pjrt/plugin.h"

namespace tenon {
namespace {

using Config = MixtureOfExperts::Config;

Config mixture() {
  Config c;
  c.input_dim = 8;
  c.num_experts = 4;
  c.experts.as<GatedExperts>().hidden_dim = 6;
  return c;
}

Slot<FeedForward> shared(int64_t hidden_dim) {
  GatedFeedForward::Config c;
  c.hidden_dim = hidden_dim;
  return c;
}

// In the interpreter or, if `compiled`, by XLA.
void expect_fixture(const std::string& name, Config config, const Values& more_state = {}, bool compiled = false) {
  static const Fixture file("mixture");
  const Values inputs = {{"x", file["x"]}, {"dy", file["dy"]}}, wanted = file.all(name + "/grads/");
  Values state = file.all(name + "/weights/");
  state.insert(more_state.begin(), more_state.end());
  for (const Slot<Dispatch>& dispatch :
       {Slot<Dispatch>(CapacityDispatch::Config{}), Slot<Dispatch>(DroplessDispatch::Config{})}) {
    config.dispatch = dispatch;
    const MixtureOfExperts model(config);
    const NestGraph program = nest_graph(state, inputs, [&](const Nest& s, const Nest& in) {
      Nest all = s;
      all.emplace("x", in.at("x"));
      const auto both = value_and_grad(
          [&](const Nest& p) {
            const Tensor y = functional(model, &FeedForward::forward, p, Tensor(), false, p.at("x")).result;
            return std::pair(sum_all(y * in.at("dy")), y);
          },
          all);
      Nest out = both.grads;
      out.emplace("y", both.aux);
      return out;
    });
    const std::vector<Literal> arguments = nest_arguments(state, inputs);
    const Values got =
        name_results(program, compiled ? run_compiled(program, arguments) : interpret(program.graph, arguments));
    EXPECT_EQ(difference(got.at("y"), file[name + "/y"], 1e-5), "");
    for (const auto& [path, grad] : wanted) EXPECT_EQ(difference(got.at(path), grad, 1e-5), "") << path;
  }
}

TEST(MixtureFixture, Mixtral) { expect_fixture("mixtral", mixture()); }

TEST(MixtureFixture, XlaMixtral) {
  if (!pjrt::find_plugin("cpu")) GTEST_SKIP() << "no CPU plugin is installed";
  expect_fixture("mixtral", mixture(), {}, true);
}

TEST(MixtureFixture, Qwen2) {
  Config c = mixture();
  c.router.as<TopKRouter>().normalize = false;
  c.shared = shared(5);
  c.shared_gate = Slot<Linear>(Linear::Config{});
  expect_fixture("qwen2", c);
}

TEST(MixtureFixture, DeepseekV3) {
  Config c = mixture();
  auto& router = c.router.as<TopKRouter>();
  router.score = RouterScore::sigmoid;
  router.weight_scale = 2.5;
  router.bias_update_rate = 1e-3;
  c.shared = shared(6);
  const Literal even = Literal::from(DType::f32, {4}, std::vector<double>(4, 1.0));
  expect_fixture("deepseek", c, {{"router.load", even}});
}

}  // namespace
}  // namespace tenon
