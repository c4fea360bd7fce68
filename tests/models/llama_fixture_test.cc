// A Llama-style model against PyTorch: loss, logits and every gradient (tests/fixtures/make_llama_fixture.py).
#include <gtest/gtest.h>

#include "compiled.h"
#include "fixture.h"
#include "tenon/ir/interpreter.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/testing/tiny_lm.h"
#include "tenon/pjrt/plugin.h"

namespace tenon {
namespace {

Values fixture(const std::string& prefix) {
  static const Fixture file("llama");
  return file.all(prefix);
}

CausalLm::Config llama(StackForm form, DType dtype) {
  CausalLm::Config c = tiny_lm(form);
  c.compute_dtype = dtype;
  c.vocab_size = 19;
  c.model_dim = 16;
  c.decoder.as<Decoder>().num_layers = 2;
  attention_of(c).num_heads = 4;
  attention_of(c).num_kv_heads = 2;
  attention_of(c).head_dim = 6;
  c.decoder.as<Decoder>().pattern[0].as<DecoderLayer>().feed_forward.as<GatedFeedForward>().hidden_dim = 24;
  return c;
}

Literal in_dtype(const Literal& x, DType dtype) { return Literal::from(dtype, x.dims(), x.to_doubles()); }

// The weights in the names and stacks of `model`.
Values weights_for(const CausalLm& model, DType dtype) {
  Values weights = fixture("weights/");
  for (auto& [name, value] : weights) value = in_dtype(value, dtype);
  const Values own = initial_values(model, 1);
  EXPECT_EQ(unstack(own).size(), weights.size());
  return stack_as(own, weights);
}

// "loss", "logits" and "grads.<path>".
NestGraph program(const CausalLm& model, const Values& weights, const Values& batch) {
  return nest_graph(weights, batch, [&](const Nest& s, const Nest& b) {
    Nest out = loss_and_gradients(model, s, b);
    out.emplace("logits", functional(model, &CausalLm::logits, s, Tensor(), false, b).result);
    return out;
  });
}

void expect_fixture(const Values& got, const std::string& dtype, double tolerance) {
  const Values results = unstack(got), grads = fixture(dtype + "/grads/");
  EXPECT_EQ(results.size(), grads.size() + 2);
  for (const char* name : {"loss", "logits"}) {
    EXPECT_EQ(difference(results.at(name), fixture(dtype + "/" + name).at(""), tolerance), "") << name;
  }
  for (const auto& [name, want] : grads) {
    ASSERT_TRUE(results.contains("grads." + name)) << name;
    EXPECT_EQ(difference(results.at("grads." + name), want, tolerance), "") << name;
  }
}

void interpret_and_compare(DType dtype, const std::string& name, double tolerance) {
  for (const StackForm form : {StackForm::scan, StackForm::unroll}) {
    const CausalLm model(llama(form, dtype));
    const Values weights = weights_for(model, dtype), batch = fixture("batch/");
    const NestGraph graph = program(model, weights, batch);
    expect_fixture(name_results(graph, interpret(graph.graph, nest_arguments(weights, batch))), name, tolerance);
  }
}

TEST(LlamaFixture, InterpreterInF32) { interpret_and_compare(DType::f32, "f32", 1e-5); }
TEST(LlamaFixture, InterpreterInF64) { interpret_and_compare(DType::f64, "f64", 1e-10); }

TEST(LlamaFixture, XlaInF32) {
  if (!pjrt::find_plugin("cpu")) GTEST_SKIP() << "no CPU plugin is installed";
  const auto compare = [](CausalLm::Config config) {
    const CausalLm model(config);
    const Values weights = weights_for(model, DType::f32), batch = fixture("batch/");
    const NestGraph graph = program(model, weights, batch);
    expect_fixture(name_results(graph, run_compiled(graph, nest_arguments(weights, batch))), "f32", 1e-5);
  };
  compare(llama(StackForm::scan, DType::f32));
  compare(llama(StackForm::unroll, DType::f32));
  CausalLm::Config remat = llama(StackForm::scan, DType::f32);
  remat.decoder.as<Decoder>().pattern[0]->remat = SaveNothing{};
  compare(remat);
}

}  // namespace
}  // namespace tenon
