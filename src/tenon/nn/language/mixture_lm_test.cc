// Language models with mixtures of experts: stacks, remat, auxiliary losses, generation.
#include <gmock/gmock.h>

#include "tenon/ir/ops.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/experts/auxiliary_loss.h"
#include "tenon/nn/experts/mixture_of_experts.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/testing/tiny_lm.h"

namespace tenon {
namespace {

MixtureOfExperts::Config mixture() {
  MixtureOfExperts::Config c;
  c.num_experts = 4;
  c.experts.as<GatedExperts>().hidden_dim = 6;
  auto& router = c.router.as<TopKRouter>();
  router.load_balance_loss = 0.5;
  router.z_loss = 0.25;
  router.bias_update_rate = 1e-3;
  return c;
}

DecoderLayer::Config& layer_of(CausalLm::Config& c, size_t place) {
  return c.decoder.as<Decoder>().pattern.at(place).as<DecoderLayer>();
}

CausalLm::Config sparse_lm(StackForm form) {
  CausalLm::Config c = tiny_lm(form);
  layer_of(c, 0).feed_forward = mixture();
  return c;
}

// Every second layer a mixture.
CausalLm::Config alternating_lm(StackForm form) {
  CausalLm::Config c = tiny_lm(form);
  auto& pattern = c.decoder.as<Decoder>().pattern;
  pattern.push_back(pattern[0]);
  layer_of(c, 1).feed_forward = mixture();
  return c;
}

const Values& mixture_batch() {
  static const Values values = packed_batch({{5, 3}, {6}}, 11, 1);
  return values;
}

// As the unrolled form names them; outputs have the names of the scanned one in both.
Values unstack_state(const Values& results) {
  Values outputs, state;
  for (const auto& [name, value] : results) (name.starts_with("summaries.") ? outputs : state).emplace(name, value);
  Values out = unstack(state);
  out.insert(outputs.begin(), outputs.end());
  return out;
}

TEST(MixtureLm, ScanAndUnrollAreEqualToTheBit) {
  for (const auto make : {sparse_lm, alternating_lm}) {
    const CausalLm scanned(make(StackForm::scan)), unrolled(make(StackForm::unroll));
    const Values stacked = initial_values(scanned, 3), apart = initial_values(unrolled, 3);
    EXPECT_EQ(unstack(stacked), apart);
    const Values results = loss_and_gradients(scanned, stacked, mixture_batch());
    EXPECT_EQ(unstack_state(results), loss_and_gradients(unrolled, apart, mixture_batch()));
  }
  const Values values = initial_values(CausalLm(alternating_lm(StackForm::unroll)), 3);
  EXPECT_TRUE(values.contains("decoder.layers.0.feed_forward.gate.weight"));
  EXPECT_EQ(values.at("decoder.layers.1.feed_forward.experts.gate").dims(), (Dims{4, 8, 6}));
}

TEST(MixtureLm, RematPoliciesAreEqualToTheBit) {
  for (const bool capacity : {true, false}) {
    CausalLm::Config c = sparse_lm(StackForm::scan);
    if (!capacity) layer_of(c, 0).feed_forward.as<MixtureOfExperts>().dispatch = DroplessDispatch::Config{};
    const Values state = initial_values(CausalLm(c), 6);
    const Values want = loss_and_gradients(CausalLm(c), state, mixture_batch());
    for (const RematPolicy& policy :
         {RematPolicy(SaveNothing{}), RematPolicy(SaveDots{}), RematPolicy(SaveEverything{}),
          RematPolicy(SaveTags{.device = {"router_logits", "expert_tokens", "hidden", "expert_output"}})}) {
      c.decoder.as<Decoder>().pattern[0]->remat = policy;
      EXPECT_EQ(loss_and_gradients(CausalLm(c), state, mixture_batch()), want);
    }
  }
}

// The loss is that of the tokens and, for each row, its auxiliary losses times its tokens: 8 and 6 of 14.
TEST(MixtureLm, AuxiliaryLossesAreInTheLossAndItsGradient) {
  CausalLm::Config c = sparse_lm(StackForm::scan);
  const Values state = initial_values(CausalLm(c), 4), with = loss_and_gradients(CausalLm(c), state, mixture_batch());
  auto& router = layer_of(c, 0).feed_forward.as<MixtureOfExperts>().router.as<TopKRouter>();
  router.load_balance_loss = router.z_loss = 0;
  const Values without = loss_and_gradients(CausalLm(c), state, mixture_batch());
  const auto number = [](const Values& v, const std::string& name) { return v.at(name).as_double(0); };
  const std::string path = "summaries.decoder.layers.0::1.feed_forward.router.";
  const double balance = number(with, path + "load_balance_loss"), z = number(with, path + "z_loss");
  EXPECT_NEAR(number(with, "summaries.token_loss"), number(without, "loss"), 1e-6);
  EXPECT_NEAR(number(with, "loss"), number(without, "loss") + balance + z, 1e-5);
  EXPECT_GT(balance, 4 * 0.5 * 0.9);  // about 1 a layer when even
  EXPECT_FALSE(without.contains("summaries.token_loss"));
  EXPECT_FALSE(with.contains("aux" + path.substr(9) + "load_balance_loss"));
}

TEST(MixtureLm, TheGradientIsThatOfTheWholeLoss) {
  CausalLm::Config c = sparse_lm(StackForm::scan);
  c.compute_dtype = DType::f64;
  const CausalLm model(c);
  Values state = initial_values(model, 4);
  for (auto& [name, value] : state) value = Literal::from(DType::f64, value.dims(), value.to_doubles());
  const std::string weight = "decoder.layers.0::1.feed_forward.router.weight";
  const Literal grads = loss_and_gradients(model, state, mixture_batch()).at("grads." + weight);
  for (const int64_t i : {0, 5, 40, 70, 127}) {
    const double w = state.at(weight).as_double(i), step = 1e-6;
    const auto loss_at = [&](double value) {
      state.at(weight).set(i, value);
      return loss_and_gradients(model, state, mixture_batch()).at("loss").as_double(0);
    };
    const double slope = (loss_at(w + step) - loss_at(w - step)) / (2 * step);
    state.at(weight).set(i, w);
    EXPECT_NEAR(grads.as_double(i), slope, 1e-7) << i;
  }
}

TEST(MixtureLm, EvaluationHasNoAuxiliaryLosses) {
  const CausalLm model(sparse_lm(StackForm::scan));
  const Values got = evaluate(initial_values(model, 4), mixture_batch(), [&](const Nest& s, const Nest& b) {
    auto [loss, collected] = functional(model, &Model::forward, s, Tensor(), false, b);
    Nest out = flatten_collected(collected);
    out.emplace("loss", loss.sum / loss.weight);
    return out;
  });
  EXPECT_FALSE(got.contains("summaries.token_loss"));
  for (const auto& [name, value] : got) EXPECT_FALSE(name.starts_with("aux") || name.starts_with("updates")) << name;
}

// Prefill, then one token after another, against all tokens at once.
TEST(MixtureLm, ExtendStepEqualsForward) {
  const Values row = packed_batch({{6}, {6}}, 11, 2);
  for (const bool capacity : {true, false}) {
    CausalLm::Config c = alternating_lm(StackForm::scan);
    if (!capacity) layer_of(c, 1).feed_forward.as<MixtureOfExperts>().dispatch = DroplessDispatch::Config{};
    const CausalLm model(c);
    const Values got = evaluate(initial_values(model, 9), row, [&](const Nest& s, const Nest& b) {
      Nest out{{"forward", functional(model, &CausalLm::logits, s, Tensor(), false, b).result}};
      Nest cache = functional(model, &LanguageModel::init_cache, s, Tensor(), false, CacheSizes{2, 6}).result;
      for (int64_t begin = 0, end = 3; end <= 6; begin = end++) {
        const Tensor ids = slice_dim(b.at("input_ids"), 1, begin, end);
        const Tensor start = full({DType::i32, {}}, static_cast<double>(begin));
        const Tensor last = full({DType::i32, {}}, static_cast<double>(end - begin - 1));
        auto step = functional(model, &LanguageModel::extend_step, s, Tensor(), false, cache, ids, start, last).result;
        cache = std::move(step.first);
        out.emplace(std::to_string(end - 1), step.second);
      }
      return out;
    });
    for (int64_t t = 2; t < 6; ++t) {
      for (int64_t i = 0; i < 22; ++i) {
        EXPECT_NEAR(got.at(std::to_string(t)).as_double(i), got.at("forward").as_double((i / 11 * 6 + t) * 11 + i % 11),
                    2e-6)
            << "token " << t;
      }
    }
  }
}

TEST(AuxiliaryLoss, NobodyAddsIsAnError) {
  Outputs aux;
  require_no_auxiliary_loss(aux);
  make_graph(std::vector<TensorType>{{DType::f32, {2}}}, [&](const std::vector<Tensor>& t) {
    aux.emplace("router.z_loss", Output{t[0], {}, Merge::sum});
    const auto error = error_of([&] { require_no_auxiliary_loss(aux); });
    EXPECT_TRUE(error);
    if (error) {
      EXPECT_EQ(error->code(), ErrorCode::unsupported);
      EXPECT_EQ(error->path(), "router.z_loss");
    }
    return t;
  });
}

}  // namespace
}  // namespace tenon
