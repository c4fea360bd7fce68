#include "tenon/optim/optimizer_by_path.h"

#include <gmock/gmock.h>

#include "tenon/config/validate.h"
#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/optim/adamw.h"
#include "tenon/optim/learner.h"
#include "tenon/optim/muon.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

ParamInfo info(const std::string& path, Dims shape, int64_t stack = 0) {
  ParamInfo out;
  out.path = path;
  out.shape = std::move(shape);
  out.stack = stack;
  return out;
}

OptimizerRule::Config rule(const std::string& path, double decay) {
  AdamW::Config adam;
  adam.weight_decay = decay;
  OptimizerRule::Config out;
  out.path = path;
  out.optimizer = adam;
  return out;
}

// Matrices of layers to Muon; biases to AdamW without decay; the rest to AdamW with 0.25.
OptimizerByPath::Config mixed() {
  OptimizerByPath::Config c;
  c.rules.emplace_back(rule("bias", 0));
  OptimizerRule::Config matrices;
  matrices.path = "^layers\\..*weight$";
  matrices.optimizer = Muon::Config();
  c.rules.emplace_back(matrices);
  AdamW::Config rest;
  rest.weight_decay = 0.25;
  c.otherwise = rest;
  return c;
}

TEST(OptimizerByPath, TheFirstRuleThatMatchesHasTheParameter) {
  const OptimizerByPath optimizer(mixed());
  const auto state_of = [&](const ParamInfo& p) { return optimizer.describe(p).at(0).path; };
  EXPECT_EQ(state_of(info("layers.0::1.up.weight", {2, 3}, 4)), "momentum");
  EXPECT_EQ(state_of(info("layers.0::1.up.bias_weight", {3}, 4)), "m");
  EXPECT_EQ(state_of(info("embedding.weight", {5, 2})), "m");
}

TEST(OptimizerByPath, NumbersAreNamedByRule) {
  EXPECT_THAT(OptimizerByPath(mixed()).scalars(3),
              UnorderedElementsAre(Pair("0.weight_decay", 0), Pair("1.weight_decay", 0.1),
                                   Pair("otherwise.weight_decay", 0.25)));
}

// The update of one parameter as the optimizer by itself makes it.
std::vector<Literal> update(const Optimizer& optimizer, const ParamInfo& param, const StepScalars& scalars) {
  const TensorType type{DType::f32, param.shape};
  std::vector<TensorType> types{type, type, {DType::f32, {}}};
  const std::vector<double> start{1, -2, 3}, grad{0.5, 0.1, -4};
  std::vector<Literal> args{Literal::from(type.dtype, type.dims, start), Literal::from(type.dtype, type.dims, grad),
                            Literal::scalar(DType::f32, 1)};
  for (const auto& [name, value] : scalars) {
    types.push_back({DType::f32, {}});
    args.push_back(Literal::scalar(DType::f32, value));
  }
  const Graph graph = make_graph(types, [&](const std::vector<Tensor>& t) {
    Nest numbers;
    size_t position = 3;
    for (const auto& [name, value] : scalars) numbers.emplace(name, t[position++]);
    const Tensor applied = full({DType::i1, {}}, 1);
    const auto [next, state] =
        optimizer.update({param, t[0], t[1], optimizer.init(param, t[0]), numbers, t[2], applied});
    return std::vector<Tensor>{next, state.at("m"), state.at("v")};
  });
  return interpret(graph, args);
}

TEST(OptimizerByPath, UpdatesAsTheOneThatHasIt) {
  const OptimizerByPath optimizer(mixed());
  StepScalars scalars = optimizer.scalars(0);
  scalars["learning_rate"] = 0.1;
  AdamW::Config alone;
  for (const auto& [path, decay] : {std::pair("x.bias", 0.0), std::pair("norm.scale", 0.25)}) {
    alone.weight_decay = decay;
    EXPECT_EQ(update(optimizer, info(path, {3}), scalars),
              update(AdamW(alone), info(path, {3}), {{"learning_rate", 0.1}, {"weight_decay", decay}}));
  }
}

TEST(OptimizerByPath, ScalesTheLearningRate) {
  OptimizerByPath::Config c;
  OptimizerRule::Config slow = rule("x", 0.5);
  slow.learning_rate_scale = 0.25;
  c.rules.emplace_back(slow);
  EXPECT_EQ(update(OptimizerByPath(c), info("x", {3}), {{"learning_rate", 0.5}, {"0.weight_decay", 0.5}}),
            update(AdamW({}), info("x", {3}), {{"learning_rate", 0.125}, {"weight_decay", 0.5}}));
}

TEST(OptimizerByPath, ScalesTheWeightDecay) {
  OptimizerByPath::Config c;
  OptimizerRule::Config less = rule("x", 0.5);
  less.weight_decay_scale = 0.25;
  c.rules.emplace_back(less);
  EXPECT_EQ(update(OptimizerByPath(c), info("x", {3}), {{"learning_rate", 0.5}, {"0.weight_decay", 0.5}}),
            update(AdamW({}), info("x", {3}), {{"learning_rate", 0.5}, {"weight_decay", 0.125}}));
}

TEST(OptimizerByPath, LayersHaveRatesOfTheirOwn) {
  OptimizerByPath::Config c;
  OptimizerRule::Config layers = rule("layers", 0.5);
  layers.learning_rate_scale = 0.5;
  layers.layer_rates = LayerDecay{.factor = 0.25, .num_layers = 4};
  c.rules.emplace_back(layers);
  const OptimizerByPath optimizer(c);
  for (const auto& [path, rate] : {std::pair("decoder.layers.3.w", 0.5), std::pair("decoder.layers.1.w", 0.03125)}) {
    EXPECT_EQ(update(optimizer, info(path, {3}), {{"learning_rate", 1}, {"0.weight_decay", 0.5}}),
              update(AdamW({}), info(path, {3}), {{"learning_rate", rate}, {"weight_decay", 0.5}}));
  }
  const auto e = error_of([&] { optimizer.check_parameters({info("layers.norm.scale", {3})}); });
  ASSERT_TRUE(e);
  EXPECT_EQ(e->code(), ErrorCode::invalid_argument);
  EXPECT_EQ(e->path(), "layers.norm.scale");
}

TEST(OptimizerByPath, ScannedLayersMayNotBeTornApart) {
  OptimizerByPath::Config c;
  c.rules.emplace_back(rule("layers\\.[01]\\.", 0));
  const auto e = error_of([&] { OptimizerByPath(c).describe(info("layers.0::1.w", {2}, 3)); });
  ASSERT_TRUE(e);
  EXPECT_EQ(e->code(), ErrorCode::unsupported);
  EXPECT_THAT(e->what(), HasSubstr("layers.2.w"));
  EXPECT_THAT(e->hint(), HasSubstr("unroll"));
  EXPECT_EQ(OptimizerByPath(c).describe(info("layers.0::1.w", {2}, 2)).size(), 2U);
}

TEST(OptimizerByPath, RulesWithoutParametersAreErrors) {
  Learner::Config c;
  OptimizerByPath::Config by_path;
  by_path.rules.emplace_back(rule("weight", 0));
  by_path.rules.emplace_back(rule("up\\.weight", 0));  // the first rule has them all
  c.optimizer = by_path;
  const auto e = error_of([&] { Learner(c).check_parameters({info("up.weight", {2, 2}), info("scale", {2})}); });
  ASSERT_TRUE(e);
  EXPECT_EQ(e->code(), ErrorCode::invalid_argument);
  EXPECT_EQ(e->path(), "optimizer.rules.1.path");
}

TEST(OptimizerByPath, PatternsAreChecked) {
  OptimizerByPath::Config c;
  c.rules.emplace_back(rule("(", 0));
  const auto e = error_of([&] { validate(c); });
  ASSERT_TRUE(e);
  EXPECT_THAT(e->what(), HasSubstr("rules.0.path"));
}

}  // namespace
}  // namespace tenon
