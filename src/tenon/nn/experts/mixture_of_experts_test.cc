#include "tenon/nn/experts/mixture_of_experts.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "tenon/ir/ops.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/experts/expert_balance.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/testing/evaluate.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
using Config = MixtureOfExperts::Config;

constexpr int64_t kB = 2, kT = 6, kD = 4, kF = 5, kE = 4;

Config mixture(int64_t top_k, Slot<Dispatch> dispatch, DType dtype = DType::f32) {
  Config c;
  c.input_dim = kD;
  c.num_experts = kE;
  auto& router = c.router.as<TopKRouter>();
  router.top_k = top_k;
  router.normalize = top_k != 1;
  c.experts.as<GatedExperts>().hidden_dim = kF;
  c.dispatch = std::move(dispatch);
  c.compute_dtype = dtype;
  return c;
}

CapacityDispatch::Config capacity(double factor) {
  CapacityDispatch::Config c;
  c.capacity_factor = factor;
  return c;
}
DroplessDispatch::Config dropless(int64_t block_size) {
  DroplessDispatch::Config c;
  c.block_size = block_size;
  return c;
}

Values random_input(DType dtype, int seed = 3) {
  std::mt19937 rng(static_cast<unsigned>(seed));
  std::normal_distribution<double> normal;
  std::vector<double> values;
  for (int64_t i = 0; i < kB * kT * kD; ++i) values.push_back(normal(rng));
  return {{"x", Literal::from(dtype, {kB, kT, kD}, values)}};
}

Values state_of(const MixtureOfExperts& model, DType dtype) {
  Values out = initial_values(model, 5);
  for (auto& [name, value] : out) value = Literal::from(dtype, value.dims(), value.to_doubles());
  return out;
}

// All experts on all tokens, weighted with zeros where they weren't chosen.
Tensor dense(const Config& config, const Nest& s, const Tensor& x) {
  const auto& router = config.router.as<TopKRouter>();
  const Tensor logits = matmul(reshape(x, {kB * kT, kD}), s.at("router.weight"));
  Tensor scores = logistic(logits);
  if (router.score == RouterScore::softmax) scores = exp(logits) / sum_keep(exp(logits), {-1});
  const TopK best = top_k(scores, router.top_k);
  Tensor weights = best.values;
  if (router.normalize) weights = weights / sum_keep(weights, {-1});
  weights = weights * router.weight_scale;
  const Tensor rows = reshape(x, {kB * kT, kD});
  Tensor out = zeros_like(rows);
  for (int64_t e = 0; e < kE; ++e) {
    const auto matrix = [&](const char* name) {
      return squeeze(slice_dim(s.at(std::string("experts.") + name), 0, e, e + 1), 0);
    };
    const Tensor gate = matmul(rows, matrix("gate")), up = matmul(rows, matrix("up"));
    const Tensor y = matmul(gate * logistic(gate) * up, matrix("down"));
    const Tensor chosen = equal(best.indices, full_like(best.indices, static_cast<double>(e)));
    out = out + y * sum_keep(select(chosen, weights, zeros_like(weights)), {-1});
  }
  return reshape(out, {kB, kT, kD});
}

// "y", and the gradients of sum(y * y * y) by x and every parameter.
Values differentiate(const Values& state, const Values& inputs,
                     const std::function<Tensor(const Nest&, const Tensor&)>& f) {
  return evaluate(state, inputs, [&](const Nest& s, const Nest& in) {
    Nest all = s;
    all.emplace("x", in.at("x"));
    const auto both = value_and_grad(
        [&](Nest p) {
          const Tensor x = p.at("x");
          p.erase("x");
          const Tensor y = f(p, x);
          return std::pair(sum_all(y * y * y), y);
        },
        all);
    Nest out = both.grads;
    out.emplace("y", both.aux);
    return out;
  });
}

void expect_dense(const Config& config, DType dtype, double tolerance) {
  const MixtureOfExperts model(config);
  const Values state = state_of(model, dtype), inputs = random_input(dtype);
  const Values got = differentiate(state, inputs, [&](const Nest& s, const Tensor& x) {
    return functional(model, &FeedForward::forward, s, Tensor(), true, x).result;
  });
  const Values want = differentiate(state, inputs, [&](const Nest& s, const Tensor& x) { return dense(config, s, x); });
  ASSERT_EQ(got.size(), 6U);
  for (const auto& [name, value] : want) EXPECT_EQ(difference(got.at(name), value, tolerance), "") << name;
}

TEST(MixtureOfExperts, EqualsAllExpertsOnAllTokens) {
  for (const int64_t top_k : {1, 2, 4}) {
    expect_dense(mixture(top_k, dropless(3), DType::f64), DType::f64, 1e-10);
    expect_dense(mixture(top_k, capacity(4), DType::f64), DType::f64, 1e-10);
  }
  for (const int64_t block_size : {1, 128}) {
    expect_dense(mixture(2, dropless(block_size), DType::f64), DType::f64, 1e-10);
  }
  expect_dense(mixture(2, dropless(2)), DType::f32, 1e-5);
  expect_dense(mixture(2, capacity(4)), DType::f32, 1e-5);
}

TEST(MixtureOfExperts, RoutersOptions) {
  Config c = mixture(2, dropless(3), DType::f64);
  auto& router = c.router.as<TopKRouter>();
  router.normalize = false;
  router.weight_scale = 2.5;
  expect_dense(c, DType::f64, 1e-10);
  router.score = RouterScore::sigmoid;
  expect_dense(c, DType::f64, 1e-10);
  router.normalize = true;
  expect_dense(c, DType::f64, 1e-10);
}

Values forward(const MixtureOfExperts& model, const Values& state, const Values& inputs, bool training = true) {
  return evaluate(state, inputs, [&](const Nest& s, const Nest& in) {
    auto [y, collected] = functional(model, &FeedForward::forward, s, Tensor(), training, in.at("x"));
    Nest out = flatten_collected(collected);
    out.emplace("y", y);
    return out;
  });
}

// All tokens like expert 2, then 1: of 6 tokens with 2 experts each, ceil(0.5 * 6 * 2 / 4) = 2 fit.
TEST(MixtureOfExperts, TokensOverCapacityAreDroppedInTheirOrder) {
  const MixtureOfExperts tight(mixture(2, capacity(0.5))), wide(mixture(2, capacity(4)));
  Values state = state_of(tight, DType::f32), inputs = random_input(DType::f32);
  for (int64_t i = 0; i < kB * kT; ++i) inputs.at("x").set(i * kD, 1);
  state.at("router.weight") = Literal(TensorType{DType::f32, {kD, kE}});
  state.at("router.weight").set(1, 4);
  state.at("router.weight").set(2, 5);
  const Values got = forward(tight, state, inputs), all = forward(wide, state, inputs);
  for (int64_t i = 0; i < kB * kT * kD; ++i) {
    const bool fits = i / kD % kT < 2;
    EXPECT_EQ(got.at("y").as_double(i), fits ? all.at("y").as_double(i) : 0) << i;
  }
  EXPECT_NEAR(got.at("summaries.dispatch.dropped").as_double(0), 4.0 / 6, 1e-6);
  EXPECT_EQ(all.at("summaries.dispatch.dropped").as_double(0), 0);
  EXPECT_EQ(got.at("summaries.router.load_max").as_double(0), 2);
  EXPECT_EQ(got.at("summaries.router.load_min").as_double(0), 0);
  const double z[] = {1, std::exp(4), std::exp(5), 1}, sum = z[0] + z[1] + z[2] + z[3];
  double entropy = 0;
  for (const double p : z) entropy -= p / sum * std::log(p / sum);
  EXPECT_NEAR(got.at("summaries.router.entropy").as_double(0), entropy, 1e-6);

  EXPECT_EQ(forward(tight, state, inputs, false).at("y"), all.at("y")) << "outside of training nothing is dropped";
  Config c = mixture(2, capacity(4));
  c.dispatch.as<CapacityDispatch>().eval_capacity_factor = 0.5;
  EXPECT_EQ(forward(MixtureOfExperts(c), state, inputs, false).at("y"), got.at("y"));
}

TEST(MixtureOfExperts, SequencesDontShareCapacity) {
  const MixtureOfExperts model(mixture(2, capacity(0.75)));
  const Values state = state_of(model, DType::f32), inputs = random_input(DType::f32);
  const Values both = forward(model, state, inputs);
  EXPECT_GT(both.at("summaries.dispatch.dropped").as_double(0), 0);
  for (int64_t b = 0; b < kB; ++b) {
    Values one{{"x", Literal(TensorType{DType::f32, {1, kT, kD}})}};
    for (int64_t i = 0; i < kT * kD; ++i) one.at("x").set(i, inputs.at("x").as_double(b * kT * kD + i));
    const Values alone = forward(model, state, one);
    for (int64_t i = 0; i < kT * kD; ++i) {
      EXPECT_NEAR(alone.at("y").as_double(i), both.at("y").as_double(b * kT * kD + i), 1e-6);
    }
    EXPECT_NEAR(alone.at("aux.router.load_balance_loss").as_double(0),
                both.at("aux.router.load_balance_loss").as_double(b), 1e-7);
  }
}

TEST(ExpertBalance, ByHand) {
  // One sequence, two tokens with one expert each of two.
  const Values got =
      evaluate({},
               {{"p", Literal::from(DType::f32, {1, 2, 2}, std::vector<double>{0.75, 0.25, 0.5, 0.5})},
                {"e", Literal::from(DType::i32, {1, 2, 1}, std::vector<int64_t>{0, 0})},
                {"z", Literal::from(DType::f32, {1, 2, 2}, std::vector<double>{0, 0, 100, std::log(3.0)})}},
               [](const Nest&, const Nest& in) {
                 const Tensor load = expert_load(in.at("e"), 2);
                 return Nest{{"load", load},
                             {"balance", load_balance_loss(in.at("p"), load)},
                             {"z", router_z_loss(in.at("z"))},
                             {"picked", pick_experts(in.at("p"), in.at("e"))}};
               });
  EXPECT_EQ(got.at("load").to_doubles(), (std::vector<double>{2, 0}));
  EXPECT_NEAR(got.at("balance").as_double(0), 2 * 0.625, 1e-6);
  EXPECT_NEAR(got.at("z").as_double(0), (std::log(2.0) * std::log(2.0) + 100 * 100) / 2, 1e-2);
  EXPECT_EQ(got.at("picked").to_doubles(), (std::vector<double>{0.75, 0.5}));
}

TEST(MixtureOfExperts, BiasChoosesButDoesNotWeigh) {
  Config c = mixture(1, dropless(4));
  auto& router = c.router.as<TopKRouter>();
  router.score = RouterScore::sigmoid;
  router.normalize = false;
  router.bias_update_rate = 0.25;
  const MixtureOfExperts model(c);
  Values state = state_of(model, DType::f32);
  const Values inputs = random_input(DType::f32);
  state.at("router.weight") = Literal(TensorType{DType::f32, {kD, kE}});  // all scores 1/2: expert 0 takes all
  const Values first = forward(model, state, inputs);
  EXPECT_EQ(first.at("updates.router.load").to_doubles(), (std::vector<double>{4, 0, 0, 0}));
  state.at("router.load") = first.at("updates.router.load");
  state.at("router.bias") = first.at("updates.router.bias");
  const Values second = forward(model, state, inputs);
  EXPECT_EQ(second.at("updates.router.bias").to_doubles(), (std::vector<double>{0, 0.5, 0.5, 0.5}));
  EXPECT_EQ(second.at("updates.router.load").to_doubles(), (std::vector<double>{0, 4, 0, 0}));

  // The weight stays 1/2: the same as if expert 1 had the largest score by a hair.
  c.router.as<TopKRouter>().bias_update_rate = 0;
  const MixtureOfExperts plain(c);
  Values direct = state;
  direct.erase("router.bias");
  direct.erase("router.load");
  Values nudged = inputs;
  for (int64_t i = 0; i < kB * kT; ++i) nudged.at("x").set(i * kD, 1);
  direct.at("router.weight").set(1, 1e-6);
  const Values biased = forward(model, state, nudged);
  EXPECT_EQ(difference(forward(plain, direct, nudged).at("y"), biased.at("y"), 1e-5), "");
}

TEST(MixtureOfExperts, SharedExpertsSeeEveryToken) {
  Config c = mixture(2, dropless(4));
  const MixtureOfExperts alone(c);
  GatedFeedForward::Config shared;
  shared.hidden_dim = 3;
  c.shared = Slot<FeedForward>(shared);
  const MixtureOfExperts with(c);
  c.shared_gate = Slot<Linear>(Linear::Config{});
  const MixtureOfExperts gated(c);
  const Values state = state_of(gated, DType::f32), inputs = random_input(DType::f32);
  Values shared_state;
  for (const char* name : {"gate.weight", "up.weight", "down.weight"}) {
    shared_state.emplace(name, state.at(std::string("shared.") + name));
  }
  shared.input_dim = kD;
  const GatedFeedForward module(shared);
  const Values added = evaluate(shared_state, inputs, [&](const Nest& s, const Nest& in) {
    return Nest{{"y", functional(module, &FeedForward::forward, s, Tensor(), true, in.at("x")).result}};
  });
  const Values base = forward(alone, state, inputs), plus = forward(with, state, inputs);
  const Values half = forward(gated, state, inputs);
  for (int64_t i = 0; i < kB * kT * kD; ++i) {
    const double y = added.at("y").as_double(i), routed = base.at("y").as_double(i);
    EXPECT_NEAR(plus.at("y").as_double(i), routed + y, 1e-5);
    double logit = 0;
    for (int64_t d = 0; d < kD; ++d) {
      logit += inputs.at("x").as_double(i / kD * kD + d) * state.at("shared_gate.weight").as_double(d);
    }
    EXPECT_NEAR(half.at("y").as_double(i), routed + y / (1 + std::exp(-logit)), 1e-5);
  }
}

TEST(MixtureOfExperts, ExpertsStartLikeOneOfThem) {
  Config c = mixture(2, dropless(4));
  c.input_dim = 64;
  c.num_experts = 8;
  c.experts.as<GatedExperts>().hidden_dim = 16;
  const Values values = initial_values(MixtureOfExperts(c), 1);
  const auto stddev = [&](const char* name) {
    double square = 0;
    for (const double v : values.at(name).to_doubles()) square += v * v;
    return std::sqrt(square / static_cast<double>(values.at(name).size()));
  };
  EXPECT_EQ(values.at("experts.gate").dims(), (Dims{8, 64, 16}));
  EXPECT_NEAR(stddev("experts.gate"), 1 / 8.0, 0.005);
  EXPECT_NEAR(stddev("experts.up"), 1 / 8.0, 0.005);
  EXPECT_NEAR(stddev("experts.down"), 1 / 4.0, 0.01);
}

TEST(MixtureOfExperts, InBf16) {
  const MixtureOfExperts model(mixture(2, capacity(1), DType::bf16));
  const Values state = state_of(model, DType::f32);
  const Values exact = forward(MixtureOfExperts(mixture(2, capacity(1))), state, random_input(DType::f32));
  const Values coarse = forward(model, state, random_input(DType::bf16));
  EXPECT_EQ(coarse.at("y").dtype(), DType::bf16);
  EXPECT_EQ(difference(coarse.at("y"), exact.at("y"), 0.05), "");
  const MixtureOfExperts sorted(mixture(2, dropless(4), DType::bf16));
  EXPECT_EQ(forward(sorted, state, random_input(DType::bf16)).at("y").dtype(), DType::bf16);
}

TEST(MixtureOfExperts, NaNIsNotSilent) {
  Config c = mixture(1, dropless(4));
  c.router.as<TopKRouter>().score = RouterScore::sigmoid;
  c.router.as<TopKRouter>().load_balance_loss = 0;
  const MixtureOfExperts model(c);
  Values state = state_of(model, DType::f32);
  state.at("router.weight").set(3, std::nan(""));  // expert 3 alone
  for (const double y : forward(model, state, random_input(DType::f32)).at("y").to_doubles())
    EXPECT_TRUE(std::isnan(y));
}

std::string message(const Config& c) {
  const auto error = error_of([&] { build(c); });
  return error ? error->what() : "(nothing)";
}

TEST(MixtureOfExperts, ErrorsAreToldAsWritten) {
  Config c = mixture(5, dropless(4));
  EXPECT_EQ(message(c), "invalid_argument at router.top_k: must be at most 4, is 5");
  c = mixture(0, dropless(4));
  EXPECT_EQ(message(c), "invalid_argument at router.top_k: must be positive, is 0");
  c = mixture(1, dropless(4));
  c.router.as<TopKRouter>().normalize = true;
  EXPECT_THAT(message(c), HasSubstr("router.normalize: must be false for one expert a token"));
  EXPECT_EQ(message(mixture(2, capacity(0))), "invalid_argument at dispatch.capacity_factor: must be positive, is 0.0");
  EXPECT_EQ(message(mixture(2, dropless(0))), "invalid_argument at dispatch.block_size: must be positive, is 0");
  c = mixture(2, dropless(4));
  c.router.as<TopKRouter>().z_loss = -1;
  EXPECT_THAT(message(c), HasSubstr("router.z_loss"));
  c = mixture(2, dropless(4));
  c.shared_gate = Slot<Linear>(Linear::Config{});
  EXPECT_EQ(message(c), "invalid_argument at shared_gate: needs shared experts");
  c.num_experts = 0;
  EXPECT_THAT(message(c), HasSubstr("num_experts"));
}

}  // namespace
}  // namespace tenon
