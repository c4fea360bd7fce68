// What the encoder-decoder keeps apart and refuses; its numbers are held against another library's (tests/models).
#include "tenon/nn/language/encoder_decoder.h"

#include <gmock/gmock.h>

#include "tenon/ir/ops.h"
#include "tenon/ir/random.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/testing/tiny_lm.h"
#include "tenon/nn/transformer/cross_decoder_layer.h"

namespace tenon {
namespace {

EncoderDecoder::Config tiny() {
  EncoderDecoder::Config c;
  c.vocab_size = 11;
  c.model_dim = 8;
  auto& encoder = c.encoder.as<Decoder>();
  auto& decoder = c.decoder.as<Decoder>();
  encoder.num_layers = 2;
  decoder.num_layers = 2;
  DecoderLayer::Config& reader = encoder.pattern[0].as<DecoderLayer>();
  CrossDecoderLayer::Config& writer = decoder.pattern[0].as<CrossDecoderLayer>();
  reader.attention.as<MultiheadAttention>().num_heads = 2;
  writer.attention.as<MultiheadAttention>().num_heads = 2;
  writer.cross_attention.as<CrossAttention>().num_heads = 4;
  writer.cross_attention.as<CrossAttention>().num_kv_heads = 2;
  reader.feed_forward.as<GatedFeedForward>().hidden_dim = 12;
  writer.feed_forward.as<GatedFeedForward>().hidden_dim = 12;
  c.position_embedding = SinusoidalPositions::Config();
  return c;
}

// Targets of 3 and 2 tokens in one row, of sources of 4 and 5.
Values packed() {
  Values batch = packed_batch({{3, 2}}, 11, 1);
  const Values source = packed_batch({{4, 5}}, 11, 2);
  batch.emplace("source_ids", source.at("input_ids"));
  batch.emplace("source_positions", source.at("positions"));
  batch.emplace("source_segment_ids", source.at("segment_ids"));
  return batch;
}

Literal logits(const EncoderDecoder& model, const Values& batch) {
  return evaluate(initial_values(model, 3), batch,
                  [&](const Nest& s, const Nest& b) {
                    return Nest{{"", functional(model, &EncoderDecoder::logits, s, Tensor(), false, b).result}};
                  })
      .at("");
}

bool differs(const Literal& a, const Literal& b, int64_t token) {
  for (int64_t v = token * 11; v < token * 11 + 11; ++v) {
    if (a.as_double(v) != b.as_double(v)) return true;
  }
  return false;
}

TEST(EncoderDecoder, PairsOfOneRowDontSeeEachOther) {
  const EncoderDecoder model(tiny());
  const Literal before = logits(model, packed());
  for (const int64_t source_token : {1, 6}) {
    Values changed = packed();
    Literal& ids = changed.at("source_ids");
    ids.set_int(source_token, (ids.as_int(source_token) + 1) % 11);
    const Literal after = logits(model, changed);
    for (int64_t t = 0; t < 5; ++t) EXPECT_EQ(differs(before, after, t), (t < 3) == (source_token < 4)) << t;
  }
}

TEST(EncoderDecoder, ScanAndUnrollAreEqualToTheBit) {
  EncoderDecoder::Config config = tiny();
  const EncoderDecoder scanned(config);
  config.encoder.as<Decoder>().form = StackForm::unroll;
  config.decoder.as<Decoder>().form = StackForm::unroll;
  EXPECT_EQ(logits(scanned, packed()), logits(EncoderDecoder(config), packed()));
}

TEST(EncoderDecoder, ArraysOfSourceAndTargetAreChecked) {
  const EncoderDecoder model(tiny());
  Values batch = packed();
  batch.at("source_positions") = batch.at("positions");
  auto error = error_of([&] { logits(model, batch); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::shape_mismatch);
  EXPECT_EQ(error->path(), "source_positions");
  batch = packed();
  batch.erase("source_segment_ids");
  error = error_of([&] { logits(model, batch); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::missing_field);
}

TEST(EncoderDecoder, LayersWithoutAMemorySaySo) {
  CausalLm::Config config = tiny_lm(StackForm::scan);
  config.decoder.as<Decoder>().pattern = tiny().decoder.as<Decoder>().pattern;
  const CausalLm model(config);
  const auto error = error_of([&] { loss_and_gradients(model, initial_values(model, 1), packed_batch({{3}}, 11, 1)); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::missing_field);
  EXPECT_EQ(error->path(), "decoder.layers.0::1.cross_attention");
  EXPECT_THAT(std::string(error->what()), ::testing::HasSubstr("EncoderDecoder"));
}

}  // namespace
}  // namespace tenon
