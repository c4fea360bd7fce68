// Layers against published models of Hugging Face's transformers: loss, logits, gradients, and logits of cached
// decoding (tests/fixtures/make_layers_fixture.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "compiled.h"
#include "fixture.h"
#include "tenon/autodiff/functional.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/language/causal_lm.h"
#include "tenon/nn/language/encoder_decoder.h"
#include "tenon/nn/state_space/mamba2.h"
#include "tenon/nn/transformer/cross_decoder_layer.h"
#include "tenon/nn/transformer/mixer_layer.h"
#include "tenon/nn/transformer/parallel_layer.h"
#include "tenon/pjrt/plugin.h"

namespace tenon {
namespace {

constexpr int64_t kRows = 2;

const Fixture& layers_file() {
  static const Fixture fixture("layers");
  return fixture;
}

// "loss", "logits" and "grads.<path>".
template <class Model>
Values run(const Model& model, const Values& weights, const Values& batch) {
  return unstack(evaluate(weights, batch, [&](const Nest& s, const Nest& b) {
    const auto both = value_and_grad(
        [&](const Nest& params) {
          const LossSum loss = functional(model, &Model::forward, params, Tensor(), true, b).result;
          return std::pair(loss.sum / loss.weight, Nest());
        },
        s);
    Nest out{{"loss", both.value}, {"logits", functional(model, &Model::logits, s, Tensor(), false, b).result}};
    for (const auto& [name, grad] : both.grads) out.emplace("grads." + name, grad);
    return out;
  }));
}

template <class Model>
void expect_case(const Model& model, const std::string& name) {
  const Values got = run(model, weights_for(model, layers_file(), name), layers_file().all(name + "/batch/"));
  const Values grads = layers_file().all(name + "/grads/");
  EXPECT_EQ(got.size(), grads.size() + 2);
  for (const char* what : {"loss", "logits"}) {
    EXPECT_EQ(difference(got.at(what), layers_file()[name + "/" + what], kTolerance), "") << name << " " << what;
  }
  for (const auto& [path, want] : grads) {
    ASSERT_TRUE(got.contains("grads." + path)) << path;
    const Literal& grad = got.at("grads." + path);
    EXPECT_EQ(gradient_difference(grad, want), "") << name << " " << path;
  }
}

// Logits of a prefill of 5 tokens, padded to 7, then one token after another.
template <class Model>
Nest decode(const Model& model, const Nest& state, const Nest& batch, Nest cache) {
  Nest out;
  const auto extend = [&](int64_t begin, int64_t end, int64_t padded) {
    const Tensor ids = slice_dim(batch.at("input_ids"), 1, begin, padded);
    const Tensor start = full({DType::i32, {}}, static_cast<double>(begin));
    const Tensor last = full({DType::i32, {}}, static_cast<double>(end - begin - 1));
    auto step = functional(model, &Model::extend_step, state, Tensor(), false, cache, ids, start, last).result;
    cache = std::move(step.first);
    out.emplace(std::to_string(end - 1), step.second);
  };
  extend(0, 5, 7);
  for (int64_t t = 5; t < kTokens; ++t) extend(t, t + 1, t + 1);
  return out;
}

void expect_decoded(const Values& steps, const std::string& name) {
  const Literal want = layers_file()[name + "/logits"];
  ASSERT_EQ(steps.size(), 8U);
  for (const auto& [token, got] : steps) {
    ASSERT_EQ(got.dims(), (Dims{kRows, kVocab}));
    for (int64_t row = 0; row < kRows; ++row) {
      for (int64_t v = 0; v < kVocab; ++v) {
        EXPECT_NEAR(got.as_double(row * kVocab + v), want.as_double((row * kTokens + std::stoi(token)) * kVocab + v),
                    1e-4)
            << name << " token " << token;
      }
    }
  }
}

void expect_decodes(const CausalLm& model, const std::string& name) {
  const Values batch = layers_file().all(name + "/batch/");
  expect_decoded(
      evaluate(weights_for(model, layers_file(), name), batch,
               [&](const Nest& s, const Nest& b) {
                 const Nest cache =
                     functional(model, &CausalLm::init_cache, s, Tensor(), false, CacheSizes{kRows, kTokens}).result;
                 return decode(model, s, b, cache);
               }),
      name);
}

void expect_model(const CausalLm::Config& config, const std::string& name) {
  const CausalLm model(config);
  expect_case(model, name);
  expect_decodes(model, name);
}

CausalLm::Config model_of(int64_t dim, int64_t num_layers, const std::vector<Slot<TransformerLayer>>& pattern) {
  CausalLm::Config c;
  c.vocab_size = kVocab;
  c.model_dim = dim;
  c.compute_dtype = DType::f64;
  auto& decoder = c.decoder.as<Decoder>();
  decoder.num_layers = num_layers;
  decoder.pattern = pattern;
  return c;
}

PlainFeedForward::Config plain(int64_t hidden_dim, const Activation& activation, bool bias) {
  PlainFeedForward::Config c;
  c.hidden_dim = hidden_dim;
  c.activation = activation;
  c.up.as<Linear>().bias = bias;
  c.down.as<Linear>().bias = bias;
  return c;
}

GatedFeedForward::Config gated(const Activation& activation) {
  GatedFeedForward::Config c;
  c.hidden_dim = 12;
  c.activation = activation;
  return c;
}

LinearQkv::Config linear_qkv(bool bias) {
  LinearQkv::Config c;
  c.linear.as<Linear>().bias = bias;
  return c;
}

PreNormResidual::Config pre_norm(const Slot<Norm>& norm) {
  PreNormResidual::Config c;
  c.norm = norm;
  return c;
}

RMSNorm::Config rms_norm() {
  RMSNorm::Config c;
  c.eps = 1e-6;
  return c;
}

MultiheadAttention::Config attention(int64_t num_heads, const Slot<QkvProjection>& qkv, bool bias) {
  MultiheadAttention::Config c;
  c.num_heads = num_heads;
  c.qkv = qkv;
  c.output.as<Linear>().bias = bias;
  return c;
}

TEST(LayersFixture, LearnedPositionsLayerNormAndPlainFeedForward) {
  DecoderLayer::Config layer;
  layer.attention = attention(2, linear_qkv(true), true);
  layer.feed_forward = plain(12, GeluTanh{}, true);
  layer.residual = pre_norm(LayerNorm::Config());
  CausalLm::Config config = model_of(8, 2, {layer});
  LearnedPositions::Config positions;
  positions.max_positions = kTokens;
  config.position_embedding = positions;
  config.decoder.as<Decoder>().norm = LayerNorm::Config();
  expect_model(config, "gpt2");
}

TEST(LayersFixture, PartialRotationAndParallelBranches) {
  RotaryQkv::Config qkv;
  qkv.fraction = 0.5;
  qkv.projection = linear_qkv(true);
  ParallelLayer::Config layer;
  layer.attention = attention(2, qkv, true);
  layer.feed_forward = plain(12, Gelu{}, true);
  layer.residual = pre_norm(LayerNorm::Config());
  layer.feed_forward_residual = pre_norm(LayerNorm::Config());
  CausalLm::Config config = model_of(16, 2, {layer});
  config.head = LinearHead::Config();
  config.decoder.as<Decoder>().norm = LayerNorm::Config();
  expect_model(config, "gpt_neox");
}

CausalLm::Config local_and_global() {
  RMSNorm::Config norm = rms_norm();
  norm.zero_centered = true;
  HybridNormResidual::Config residual;
  residual.norm = norm;
  residual.post_norm = norm;
  DecoderLayer::Config global;
  MultiheadAttention::Config heads = attention(2, RotaryQkv::Config(), false);
  heads.num_kv_heads = 1;
  heads.head_dim = 8;
  heads.core->scale = 1 / std::sqrt(5.0);
  heads.core->logit_cap = 2;
  global.attention = heads;
  global.feed_forward = gated(GeluTanh{});
  global.residual = residual;
  DecoderLayer::Config local = global;
  local.attention.as<MultiheadAttention>().core->mask = SlidingWindowMask{4};
  local.attention.as<MultiheadAttention>().kv_cache = SlidingKvCache::Config();
  CausalLm::Config config = model_of(8, 4, {local, global});
  config.embedding.as<Embedding>().multiplier = std::sqrt(8.0);
  CappedHead::Config head;
  head.cap = 3;
  config.head = head;
  config.decoder.as<Decoder>().norm = norm;
  return config;
}

TEST(LayersFixture, HybridNormsCapsAndLocalLayers) { expect_model(local_and_global(), "gemma2"); }

// Rows of different lengths in dense and sliding caches, compiled: 6 and 2 tokens, then one after another.
TEST(LayersFixture, RaggedDecodingThroughXla) {
  if (!pjrt::find_plugin("cpu")) GTEST_SKIP() << "no CPU plugin is installed";
  const CausalLm model(local_and_global());
  const Values weights = weights_for(model, layers_file(), "gemma2"), batch = layers_file().all("gemma2/batch/");
  const int64_t first[] = {6, 2}, steps = 2;
  const NestGraph program = nest_graph(weights, batch, [&](const Nest& s, const Nest& b) {
    Nest cache = functional(model, &CausalLm::init_cache, s, Tensor(), false, CacheSizes{kRows, kTokens}).result, out;
    const auto extend = [&](const std::vector<int64_t>& start, const std::vector<int64_t>& count, int64_t padded) {
      std::vector<Tensor> rows;
      for (int64_t r = 0; r < kRows; ++r) {
        const int64_t begin = start[static_cast<size_t>(r)];
        rows.push_back(slice(b.at("input_ids"), {r, begin}, {r + 1, begin + padded}));
      }
      const Tensor last = constant(Literal::from(DType::i32, {kRows}, count)) - 1.0;
      auto step = functional(model, &CausalLm::extend_step, s, Tensor(), false, cache, concatenate(rows, 0),
                             constant(Literal::from(DType::i32, {kRows}, start)), last)
                      .result;
      cache = std::move(step.first);
      out.emplace(std::to_string(out.size()), step.second);
    };
    extend({0, 0}, {first[0], first[1]}, 6);
    for (int64_t i = 0; i < steps; ++i) extend({first[0] + i, first[1] + i}, {1, 1}, 1);
    return out;
  });
  const Values got = name_results(program, run_compiled(program, nest_arguments(weights, batch)));
  const Literal want = layers_file()["gemma2/logits"];
  ASSERT_EQ(got.size(), 1U + steps);
  for (int64_t step = 0; step <= steps; ++step) {
    for (int64_t i = 0; i < kRows * kVocab; ++i) {
      const int64_t row = i / kVocab, token = first[row] + step - 1;
      EXPECT_NEAR(got.at(std::to_string(step)).as_double(i),
                  want.as_double((row * kTokens + token) * kVocab + i % kVocab), 1e-4)
          << "step " << step << " row " << row;
    }
  }
}

TEST(LayersFixture, NormedQueriesAndKeysOfOneKeyHead) {
  NormedQkv::Config normed;
  normed.norm = rms_norm();
  RotaryQkv::Config qkv;
  qkv.projection = normed;
  MultiheadAttention::Config heads = attention(4, qkv, false);
  heads.num_kv_heads = 1;
  heads.head_dim = 8;
  DecoderLayer::Config layer;
  layer.attention = heads;
  layer.feed_forward = gated(Silu{});
  layer.residual = pre_norm(rms_norm());
  CausalLm::Config config = model_of(8, 2, {layer});
  config.decoder.as<Decoder>().norm = rms_norm();
  expect_model(config, "qwen3");
}

CausalLm::Config rotary_model(const RotaryScaling& scaling) {
  RotaryQkv::Config qkv;
  qkv.theta = 100;
  qkv.scaling = scaling;
  MultiheadAttention::Config heads = attention(2, qkv, false);
  heads.head_dim = 8;
  DecoderLayer::Config layer;
  layer.attention = heads;
  layer.feed_forward = gated(Silu{});
  layer.residual = pre_norm(rms_norm());
  CausalLm::Config config = model_of(8, 1, {layer});
  config.decoder.as<Decoder>().norm = rms_norm();
  return config;
}

TEST(LayersFixture, StretchedRotaryPositions) {
  expect_model(rotary_model({}), "rotary");
  const std::map<std::string, RotaryScaling> scalings{
      {"linear", LinearRotaryScaling{3}},
      {"llama3", Llama3RotaryScaling{4, 1, 3, 20}},
      {"yarn", YarnRotaryScaling{.factor = 4, .original_max_position = 40, .beta_fast = 4}},
      {"yarn_smooth", YarnRotaryScaling{2, 40, 6, 0.5, 1.5, false}}};
  const Literal plain_logits = layers_file()["rotary/logits"];
  for (const auto& [name, scaling] : scalings) {
    const CausalLm model(rotary_model(scaling));
    const Values got =
        evaluate(weights_for(model, layers_file(), "rotary"), layers_file().all("rotary/batch/"),
                 [&](const Nest& s, const Nest& b) {
                   return Nest{{"logits", functional(model, &CausalLm::logits, s, Tensor(), false, b).result}};
                 });
    EXPECT_EQ(difference(got.at("logits"), layers_file()[name + "/logits"], kTolerance), "") << name;
    EXPECT_NE(difference(got.at("logits"), plain_logits, 1e-3), "") << name;
  }
}

TEST(LayersFixture, LinearBiases) {
  LayerNorm::Config norm;
  norm.bias = false;
  MultiheadAttention::Config heads = attention(3, linear_qkv(false), false);
  DotProductAttention::Config core;
  core.bias = AlibiBias::Config();
  heads.core = core;
  DecoderLayer::Config layer;
  layer.attention = heads;
  layer.feed_forward = plain(48, Gelu{}, false);
  layer.residual = pre_norm(norm);
  CausalLm::Config config = model_of(12, 2, {layer});
  config.decoder.as<Decoder>().norm = norm;
  expect_model(config, "mpt");
}

CausalLm::Config state_space_model(const Mamba2::Config& mixer) {
  MixerLayer::Config layer;
  layer.mixer = mixer;
  return model_of(8, 2, {layer});
}

Mamba2::Config mamba2() {
  Mamba2::Config c;
  c.head_dim = 4;
  c.state_dim = 6;
  return c;
}

// Chunks need not be those of the other side, whose 5 don't divide 12 tokens.
TEST(LayersFixture, StateSpaceWithGroupsOfHeads) {
  Mamba2::Config mixer = mamba2();
  mixer.num_groups = 2;
  for (const int64_t size : {5, 3, 64}) {
    mixer.chunk_size = size;
    CausalLm::Config config = state_space_model(mixer);
    config.head = LinearHead::Config();
    expect_model(config, "mamba2");
  }
}

TEST(LayersFixture, StateSpaceWithLimitsAndBiases) {
  Mamba2::Config mixer = mamba2();
  mixer.chunk_size = 4;
  mixer.min_dt = 0.4;
  mixer.max_dt = 0.9;
  for (Slot<Linear>* linear : {&mixer.linear, &mixer.group_linear, &mixer.output}) linear->as<Linear>().bias = true;
  expect_model(state_space_model(mixer), "mamba2_limited");
}

// One stack of the encoder and decoder; the layer lacks its attention, norms and feed-forward.
template <class Layer>
Decoder::Config relative_stack(Layer layer, const Mask& mask, StackForm form) {
  DotProductAttention::Config core;
  core.scale = 1;
  core.mask = mask;
  core.bias = SharedBias::Config();
  MultiheadAttention::Config heads = attention(2, LinearQkv::Config(), false);
  heads.head_dim = 6;
  heads.core = core;
  layer.attention = heads;
  layer.feed_forward = gated(GeluTanh{});
  layer.residual = pre_norm(rms_norm());
  RelativeBias::Config bias;
  bias.num_heads = 2;
  bias.num_buckets = 8;
  bias.max_distance = 10;
  bias.bidirectional = mask.as<SegmentMask>() != nullptr;
  Decoder::Config c;
  c.form = form;
  c.num_layers = 2;
  c.pattern = {layer};
  c.norm = rms_norm();
  c.attention_bias = bias;
  return c;
}

EncoderDecoder::Config encoder_decoder(StackForm form) {
  CrossDecoderLayer::Config layer;
  CrossAttention::Config& cross = layer.cross_attention.as<CrossAttention>();
  cross.num_heads = 2;
  cross.head_dim = 6;
  cross.core->scale = 1;
  EncoderDecoder::Config c;
  c.vocab_size = kVocab;
  c.model_dim = 8;
  c.compute_dtype = DType::f64;
  c.encoder = relative_stack(DecoderLayer::Config(), SegmentMask{}, form);
  c.decoder = relative_stack(layer, CausalMask{}, form);
  return c;
}

TEST(LayersFixture, EncoderDecoderWithRelativePositions) {
  for (const StackForm form : {StackForm::scan, StackForm::unroll})
    expect_case(EncoderDecoder(encoder_decoder(form)), "t5");
}

TEST(LayersFixture, EncoderDecoderDecodes) {
  for (const StackForm form : {StackForm::scan, StackForm::unroll}) {
    const EncoderDecoder model(encoder_decoder(form));
    expect_decoded(
        evaluate(weights_for(model, layers_file(), "t5"), layers_file().all("t5/batch/"),
                 [&](const Nest& s, const Nest& b) {
                   const Tensor &ids = b.at("source_ids"), &live = b.at("source_segment_ids");
                   const CacheSizes sizes{kRows, kTokens, ids.dim(1)};
                   const Nest empty = functional(model, &EncoderDecoder::init_cache, s, Tensor(), false, sizes).result;
                   const Tensor lengths = reduce_sum(live, {1});
                   return decode(
                       model, s, b,
                       functional(model, &EncoderDecoder::read_source, s, Tensor(), false, empty, ids, lengths).result);
                 }),
        "t5");
  }
}

TEST(LayersFixture, RelativeBuckets) {
  const Literal one_way = layers_file()["t5_buckets/one_way"], two_way = layers_file()["t5_buckets/two_way"];
  for (int64_t i = 0; i <= 400; ++i) {
    const int64_t relative = i - 200, back = std::max<int64_t>(-relative, 0);
    EXPECT_EQ(RelativeBias::bucket(back, 32, 128), one_way.as_int(i)) << relative;
    EXPECT_EQ(RelativeBias::bucket(std::abs(relative), 16, 128) + (relative > 0 ? 16 : 0), two_way.as_int(i))
        << relative;
  }
}

TEST(LayersFixture, Sinks) {
  const auto context = [](auto config) {
    config.head_dim = 6;
    config.num_heads = 4;
    config.sink = true;
    using Core = std::conditional_t<std::is_same_v<decltype(config), FlashAttention::Config>, FlashAttention,
                                    DotProductAttention>;
    const Core core(config);
    return evaluate(
               {{"sink", layers_file()["sink/sinks"]}}, layers_file().all("sink/"),
               [&](const Nest& s, const Nest& in) {
                 const Tensor positions = iota({DType::i32, {2, 7}}, 1), segments = zeros_like(positions);
                 const MaskArgs args{positions, positions, segments, segments};
                 const Qkv qkv{in.at("query"), in.at("key"), in.at("value")};
                 return Nest{{"", functional(core, &AttentionCore::forward, s, Tensor(), false, qkv, args).result}};
               })
        .at("");
  };
  EXPECT_EQ(difference(context(DotProductAttention::Config()), layers_file()["sink/context"], 1e-12), "");
  EXPECT_EQ(difference(context(FlashAttention::Config()), layers_file()["sink/context"], 1e-12), "");
}

}  // namespace
}  // namespace tenon
