// What the configs of this layer refuse, and where they say it.
#include <gmock/gmock.h>

#include "tenon/config/registry.h"
#include "tenon/config/testing.h"
#include "tenon/config/text.h"
#include "tenon/config/validate.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/dot/lora.h"
#include "tenon/nn/dot/quantized_dot.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/initializers.h"
#include "tenon/nn/language/encoder_decoder.h"
#include "tenon/nn/modifiers.h"
#include "tenon/nn/register.h"
#include "tenon/nn/testing/tiny_lm.h"
#include "tenon/nn/transformer/cross_decoder_layer.h"
#include "tenon/nn/transformer/parallel_layer.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

TEST(NnConfigs, ListAllTheirFields) {
  expect_all_fields_listed<PlainDot>();
  expect_all_fields_listed<Int8Dot>();
  expect_all_fields_listed<Fp8Dot>();
  expect_all_fields_listed<LoRA>();
  expect_all_fields_listed<Linear>();
  expect_all_fields_listed<Embedding>();
  expect_all_fields_listed<RMSNorm>();
  expect_all_fields_listed<LinearQkv>();
  expect_all_fields_listed<RotaryQkv>();
  expect_all_fields_listed<DotProductAttention>();
  expect_all_fields_listed<FlashAttention>();
  expect_all_fields_listed<SlidingWindowMask>();
  expect_all_fields_listed<DenseKvCache>();
  expect_all_fields_listed<MultiheadAttention>();
  expect_all_fields_listed<GatedFeedForward>();
  expect_all_fields_listed<PreNormResidual>();
  expect_all_fields_listed<DecoderLayer>();
  expect_all_fields_listed<Decoder>();
  expect_all_fields_listed<TiedHead>();
  expect_all_fields_listed<LinearHead>();
  expect_all_fields_listed<CrossEntropy>();
  expect_all_fields_listed<CausalLm>();
  expect_all_fields_listed<Constant>();
  expect_all_fields_listed<Normal>();
  expect_all_fields_listed<FanInNormal>();
  expect_all_fields_listed<ScaledDim>();
  expect_all_fields_listed<SaveTags>();
  expect_all_fields_listed<LayerNorm>();
  expect_all_fields_listed<LearnedPositions>();
  expect_all_fields_listed<SinusoidalPositions>();
  expect_all_fields_listed<NormedQkv>();
  expect_all_fields_listed<LinearRotaryScaling>();
  expect_all_fields_listed<Llama3RotaryScaling>();
  expect_all_fields_listed<YarnRotaryScaling>();
  expect_all_fields_listed<PrefixMask>();
  expect_all_fields_listed<BlockSparseMask>();
  expect_all_fields_listed<AndMask>();
  expect_all_fields_listed<OrMask>();
  expect_all_fields_listed<AlibiBias>();
  expect_all_fields_listed<RelativeBias>();
  expect_all_fields_listed<SharedBias>();
  expect_all_fields_listed<SlidingKvCache>();
  expect_all_fields_listed<CrossAttention>();
  expect_all_fields_listed<PlainFeedForward>();
  expect_all_fields_listed<PostNormResidual>();
  expect_all_fields_listed<HybridNormResidual>();
  expect_all_fields_listed<DropoutResidual>();
  expect_all_fields_listed<StochasticDepthResidual>();
  expect_all_fields_listed<ParallelLayer>();
  expect_all_fields_listed<CrossDecoderLayer>();
  expect_all_fields_listed<CappedHead>();
  expect_all_fields_listed<EncoderDecoder>();
}

TEST(NnConfigs, RegisteringTwiceIsFine) {
  Registry registry;
  register_nn(registry);
  register_nn(registry);
}

std::optional<Error> build_error(const AnyConfig& config) {
  return error_of([&] {
    validate(config);
    build(config);
  });
}

TEST(NnConfigs, MissingFieldsAreAllNamedWithTheirPaths) {
  auto error = build_error(CausalLm::Config{});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::missing_field);
  for (const char* path : {"vocab_size", "model_dim", "decoder.pattern.0.attention.num_heads"}) {
    EXPECT_THAT(std::string(error->what()), HasSubstr(path));
  }
  EXPECT_THAT(std::string(error->what()), ::testing::Not(HasSubstr("input_dim")));  // a parent's to fill in

  CausalLm::Config config = tiny_lm(StackForm::scan);
  config.decoder.as<Decoder>().num_layers.reset();
  error = build_error(config);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::missing_field);
  EXPECT_EQ(error->path(), "decoder.num_layers");
}

template <class F>
void expect_refused(F change, const std::string& path, const std::string& message) {
  CausalLm::Config config = tiny_lm(StackForm::scan);
  change(config);
  const auto error = build_error(config);
  ASSERT_TRUE(error) << path;
  EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
  EXPECT_THAT(std::string(error->what()), HasSubstr(path));
  EXPECT_THAT(std::string(error->what()), HasSubstr(message));
}

Decoder::Config& decoder(CausalLm::Config& c) { return c.decoder.as<Decoder>(); }

TEST(NnConfigs, RangesAreCheckedWithPaths) {
  expect_refused([](auto& c) { c.vocab_size = 0; }, "vocab_size", "must be positive");
  expect_refused([](auto& c) { c.loss_chunks = 0; }, "loss_chunks", "must be positive");
  expect_refused([](auto& c) { decoder(c).num_layers = 0; }, "decoder.num_layers", "must be positive");
  expect_refused([](auto& c) { decoder(c).pattern.clear(); }, "decoder.pattern", "at least one");
  expect_refused([](auto& c) { attention_of(c).num_kv_heads = 3; }, "attention.num_kv_heads", "divide");
  expect_refused([](auto& c) { attention_of(c).num_heads = 3; }, "num_heads", "divide input_dim");
  expect_refused([](auto& c) { attention_of(c).head_dim = 0; }, "head_dim", "must be positive");
  expect_refused([](auto& c) { attention_of(c).head_dim = 3; }, "qkv", "even");
  expect_refused([](auto& c) { attention_of(c).qkv.template as<RotaryQkv>().theta = 0; }, "qkv.theta", "above 0");
  expect_refused([](auto& c) { decoder(c).norm.template as<RMSNorm>().eps = 0; }, "decoder.norm.eps", "above 0");
}

TEST(NnConfigs, RotaryPositionsAreChecked) {
  const auto refused = [](auto change, const char* path, const char* message) {
    expect_refused([&](auto& c) { change(attention_of(c).qkv.template as<RotaryQkv>()); }, std::string("qkv.") + path,
                   message);
  };
  refused([](auto& r) { r.fraction = 0; }, "fraction", "above 0");
  refused([](auto& r) { r.fraction = 1.5; }, "fraction", "above 0 and at most 1, is 1.5");
  const std::map<double, std::string> uneven{{0.5, "0.5 * 6 is 3.0"}, {0.75, "0.75 * 6 is 4.5"}, {0.125, "is 0.75"}};
  for (const auto& [fraction, product] : uneven) {
    expect_refused(
        [&](auto& c) {
          attention_of(c).head_dim = 6;
          attention_of(c).qkv.template as<RotaryQkv>().fraction = fraction;
        },
        "qkv.fraction", product);
  }
  refused([](auto& r) { r.scaling = LinearRotaryScaling{0}; }, "scaling.factor", "above 0");
  refused([](auto& r) { r.scaling = Llama3RotaryScaling{.low_freq_factor = 4}; }, "scaling.high_freq_factor", "above");
  refused([](auto& r) { r.scaling = YarnRotaryScaling{.factor = 0.5}; }, "scaling.factor", "at least 1");
  refused([](auto& r) { r.scaling = YarnRotaryScaling{.beta_slow = 32}; }, "scaling.beta_fast", "above beta_slow");
}

TEST(NnConfigs, ScalingsThatGiveNoNumbersAreErrors) {
  CausalLm::Config config = tiny_lm(StackForm::unroll);
  attention_of(config).qkv.as<RotaryQkv>().theta = 1;
  attention_of(config).qkv.as<RotaryQkv>().scaling = YarnRotaryScaling{};
  const CausalLm model(config);
  const auto error = error_of([&] { loss_and_gradients(model, initial_values(model, 1), packed_batch({{3}}, 11, 1)); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error->path(), "decoder.layers.0.attention.qkv");
}

TEST(NnConfigs, LayersAreSetByPathAndPrinted) {
  Registry registry;
  register_nn(registry);
  CausalLm::Config config = tiny_lm(StackForm::scan);
  const std::string attention = "decoder.pattern.0.attention.";
  apply_set(
      config,
      {attention + "qkv.scaling.type=YarnRotaryScaling", attention + "qkv.scaling.factor=8",
       attention + "core.type=DotProductAttention", attention + "core.bias.type=AlibiBias",
       attention + R"(core.mask={type="AndMask", masks=[{type="CausalMask"}, {type="BlockSparseMask", block=32}]})"},
      registry);
  EXPECT_EQ(attention_of(config).qkv.as<RotaryQkv>().scaling, RotaryScaling(YarnRotaryScaling{.factor = 8}));
  EXPECT_EQ(attention_of(config).core->mask, Mask(AndMask{{CausalMask{}, BlockSparseMask{.block = 32}}}));
  const std::string text = to_toml(config);
  EXPECT_EQ(*from_toml(text, "", registry), static_cast<const AnyConfig&>(config));
  EXPECT_THAT(text, HasSubstr(attention + "core.mask.masks.1.block = 32\n"));
  CausalLm model(config);
  // What another core can't compute stays set, and is refused.
  UseAttention{.core = FlashAttention::Config()}(config);
  const auto error = build_error(config);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::unsupported);
  EXPECT_EQ(error->path(), "decoder.layers.0.attention.core.bias");
}

GatedFeedForward::Config& feed_forward(CausalLm::Config& c) {
  return decoder(c).pattern[0].as<DecoderLayer>().feed_forward.as<GatedFeedForward>();
}

TEST(NnConfigs, HiddenDims) {
  EXPECT_EQ((ScaledDim{.scale = 8.0 / 3, .round_up_to = 256}(4096)), 11008);
  EXPECT_EQ((ScaledDim{}(7)), 28);
  EXPECT_EQ((ScaledDim{.scale = 1.1, .round_up_to = 1}(10)), 11);
  expect_refused([](auto& c) { feed_forward(c).hidden_dim = 0; }, "feed_forward", "must be positive");
  expect_refused([](auto& c) { feed_forward(c).hidden_dim = ScaledDim{.scale = -1}; }, "", "scale above 0");
  expect_refused([](auto& c) { feed_forward(c).hidden_dim = ScaledDim{.scale = 1e300}; }, "", "1e15");
  expect_refused([](auto& c) { feed_forward(c).hidden_dim = ScaledDim{.round_up_to = int64_t{1} << 62}; }, "", "1e15");
}

TEST(NnConfigs, PartitionsOfMoreDimensionsThanTheParameter) {
  Linear::Config c;
  c.input_dim = 2;
  c.output_dim = 3;
  c.weight_partition = {"fsdp", "model", "seq"};
  const auto error = error_of([&] { Linear linear(c); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::mesh_mismatch);
  EXPECT_EQ(error->path(), "weight");
}

TEST(NnConfigs, ShapesThatDontFitCarryTheModulePath) {
  // A layer that is told one input_dim and handed another.
  Linear::Config linear;
  linear.input_dim = 5;
  linear.output_dim = 2;
  const Linear module(linear);
  const auto error = error_of([&] {
    evaluate(initial_values(module, 1), {{"x", Literal(TensorType{DType::f32, {3, 4}})}},
             [&](const Nest& s, const Nest& in) {
               return Nest{{"y", functional(module, &Linear::forward, s, Tensor(), false, in.at("x")).result}};
             });
  });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::shape_mismatch);
  EXPECT_THAT(std::string(error->what()), HasSubstr("f32[3,4]"));
  EXPECT_THAT(std::string(error->what()), HasSubstr("[..., 5]"));
}

}  // namespace
}  // namespace tenon
