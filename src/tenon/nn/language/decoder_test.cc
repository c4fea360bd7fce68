// Stacks of different layers.
#include "tenon/nn/language/decoder.h"

#include <gmock/gmock.h>

#include "tenon/config/validate.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/random.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/testing/tiny_lm.h"
#include "tenon/nn/transformer/parallel_layer.h"

namespace tenon {
namespace {

constexpr int64_t kTokens = 16;

const Values& decoder_batch() {
  static const Values values = packed_batch({{kTokens}}, 11, 3);
  return values;
}

Literal logits(const CausalLm& model, const Values& state, const Values& inputs) {
  return evaluate(state, inputs,
                  [&](const Nest& s, const Nest& b) {
                    return Nest{{"", functional(model, &CausalLm::logits, s, Tensor(), false, b).result}};
                  })
      .at("");
}

// Five layers that see 2 tokens for each one that sees all, once or twice.
CausalLm::Config five_to_one(StackForm form, int64_t num_layers) {
  CausalLm::Config c = tiny_lm(form);
  auto& decoder = c.decoder.as<Decoder>();
  DecoderLayer::Config local = decoder.pattern[0].as<DecoderLayer>();
  local.attention.as<MultiheadAttention>().core->mask = SlidingWindowMask{2};
  decoder.pattern = {local, local, local, local, local, decoder.pattern[0]};
  decoder.num_layers = num_layers;
  return c;
}

// Otherwise building takes hours.
TEST(DecoderConfig, UnrollsFewLayers) {
  const auto error = [](StackForm form, int64_t num_layers) {
    CausalLm::Config c = tiny_lm(form);
    c.decoder.as<Decoder>().num_layers = num_layers;
    const auto e = error_of([&] { validate(c); });
    return e ? std::string(e->what()) : "";
  };
  EXPECT_EQ(error(StackForm::unroll, 1024), "");
  EXPECT_EQ(error(StackForm::scan, 100'000'000), "");
  EXPECT_EQ(error(StackForm::unroll, 100'000'000),
            "invalid_argument at decoder.num_layers: must be at most 1024 with form = \"unroll\", is 100000000");
}

TEST(Decoder, FiveLocalLayersForOneGlobal) {
  const CausalLm scanned(five_to_one(StackForm::scan, 12)), unrolled(five_to_one(StackForm::unroll, 12));
  const Values stacked = initial_values(scanned, 4), apart = initial_values(unrolled, 4);
  EXPECT_EQ(apart.count("decoder.layers.11.attention.output.weight"), 1U);
  EXPECT_EQ(unstack(stacked), apart);
  EXPECT_EQ(unstack(loss_and_gradients(scanned, stacked, decoder_batch())),
            loss_and_gradients(unrolled, apart, decoder_batch()));
}

// 5 local layers : 1 global, in 16 layers: the last four are local.
TEST(Decoder, PatternsThatDontDivideTheLayers) {
  const CausalLm scanned(five_to_one(StackForm::scan, 16)), unrolled(five_to_one(StackForm::unroll, 16));
  const Values stacked = initial_values(scanned, 4), apart = initial_values(unrolled, 4);
  EXPECT_TRUE(stacked.contains("decoder.layers.15.attention.output.weight"));
  EXPECT_EQ(stacked.at("decoder.layers.5::6.attention.output.weight").dims()[0], 2);
  EXPECT_EQ(unstack(stacked), apart);
  EXPECT_EQ(unstack(loss_and_gradients(scanned, stacked, decoder_batch())),
            loss_and_gradients(unrolled, apart, decoder_batch()));
}

TEST(Decoder, StochasticDepthByDepthIsEqualToTheBit) {
  const auto model_of = [](StackForm form) {
    CausalLm::Config c = tiny_lm(form);
    auto& decoder = c.decoder.as<Decoder>();
    StochasticDepthResidual::Config residual;
    residual.rate = 0.8;
    residual.schedule = DepthSchedule::linear;
    decoder.pattern[0].as<DecoderLayer>().residual = residual;
    decoder.num_layers = 4;
    return c;
  };
  const auto run = [&](StackForm form) {
    const CausalLm model(model_of(form));
    const Values state = initial_values(model, 4);
    return evaluate(state, packed_batch(std::vector<std::vector<int64_t>>(6, {4}), 11, 3),
                    [&](const Nest& s, const Nest& b) {
                      const auto both = value_and_grad(
                          [&](const Nest& params) {
                            const auto out = functional(model, &Model::forward, params, make_key(5), true, b);
                            return std::pair(out.result.sum, Nest());
                          },
                          s);
                      Nest out = both.grads;
                      out.emplace("loss", both.value);
                      return out;
                    });
  };
  EXPECT_EQ(unstack(run(StackForm::scan)), run(StackForm::unroll));
}

// Five layers that see one token back carry a change five tokens on; the sixth carries it to all.
TEST(Decoder, LocalLayersAreLocal) {
  const auto changed_tokens = [](const CausalLm::Config& config) {
    const CausalLm model(config);
    const Values state = initial_values(model, 4);
    Values other = decoder_batch();
    other.at("input_ids").set_int(3, (other.at("input_ids").as_int(3) + 1) % 11);
    const Literal a = logits(model, state, decoder_batch()), b = logits(model, state, other);
    std::vector<int64_t> changed;
    for (int64_t t = 0; t < kTokens; ++t) {
      bool same = true;
      for (int64_t v = 0; v < 11; ++v) same = same && a.as_double(t * 11 + v) == b.as_double(t * 11 + v);
      if (!same) changed.push_back(t);
    }
    return changed;
  };
  CausalLm::Config config = five_to_one(StackForm::unroll, 6);
  EXPECT_EQ(changed_tokens(config).size(), 13U);
  auto& decoder = config.decoder.as<Decoder>();
  decoder.pattern.pop_back();
  decoder.num_layers = 5;
  EXPECT_THAT(changed_tokens(config), ::testing::ElementsAre(3, 4, 5, 6, 7, 8));
}

// With one norm for both branches: as with two equal ones, which are held against another library's.
TEST(ParallelLayer, SharesItsNorm) {
  CausalLm::Config config = tiny_lm(StackForm::unroll);
  auto& decoder = config.decoder.as<Decoder>();
  const DecoderLayer::Config plain = decoder.pattern[0].as<DecoderLayer>();
  ParallelLayer::Config layer;
  layer.attention = plain.attention;
  layer.feed_forward = plain.feed_forward;
  decoder.pattern = {layer};
  decoder.num_layers = 1;
  const CausalLm shared(config);
  layer.feed_forward_residual = PreNormResidual::Config();
  decoder.pattern = {layer};
  const CausalLm apart(config);
  Values state = initial_values(shared, 5);
  Literal& scale = state.at("decoder.layers.0.residual.norm.scale");
  scale = Literal::from(DType::f32, {8}, std::vector<double>{1, 2, 0.5, 1, 3, 1, -1, 2});
  Values both = state;
  both.emplace("decoder.layers.0.feed_forward_residual.norm.scale", scale);
  EXPECT_EQ(difference(logits(shared, state, decoder_batch()), logits(apart, both, decoder_batch()), 1e-6), "");
}

TEST(Decoder, BiasesToShareMustBeThere) {
  CausalLm::Config config = tiny_lm(StackForm::scan);
  DotProductAttention::Config core;
  core.bias = SharedBias::Config();
  attention_of(config).core = core;
  const CausalLm model(config);
  const auto error = error_of([&] { logits(model, initial_values(model, 1), decoder_batch()); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::wrong_context);
  EXPECT_THAT(std::string(error->what()), ::testing::HasSubstr("attention_bias"));
}

}  // namespace
}  // namespace tenon
