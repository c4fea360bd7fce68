// Texts that are made of another: an encoder-decoder through its cache against the same model without one.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "tenon/inference/beam_search.h"
#include "tenon/inference/generator.h"
#include "tenon/inference/testing/generate.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/language/encoder_decoder.h"
#include "tenon/nn/transformer/cross_decoder_layer.h"
#include "tenon/pjrt/plugin.h"
#include "tenon/text/byte_vocab.h"
#include "tenon/text/bytes_tokenizer.h"
#include "tenon/text/sentinel_tokenizer.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kSentinels = 3, kVocab = kByteVocabSize + kSentinels, kMaxPositions = 48;
constexpr int64_t kModelVocab = kVocab + 2;  // the last two are nobody's

EncoderDecoder::Config fills_gaps(StackForm form) {
  EncoderDecoder::Config c;
  c.vocab_size = kModelVocab;
  c.model_dim = 16;
  auto &encoder = c.encoder.as<Decoder>(), &decoder = c.decoder.as<Decoder>();
  for (Decoder::Config* stack : {&encoder, &decoder}) {
    stack->num_layers = 2;
    stack->form = form;
  }
  DecoderLayer::Config& reader = encoder.pattern[0].as<DecoderLayer>();
  CrossDecoderLayer::Config& writer = decoder.pattern[0].as<CrossDecoderLayer>();
  reader.attention.as<MultiheadAttention>().num_heads = 2;
  writer.attention.as<MultiheadAttention>().num_heads = 2;
  writer.cross_attention.as<CrossAttention>().num_heads = 2;
  reader.feed_forward.as<GatedFeedForward>().hidden_dim = 16;
  writer.feed_forward.as<GatedFeedForward>().hidden_dim = 16;
  LearnedPositions::Config positions;
  positions.max_positions = kMaxPositions;
  c.position_embedding = positions;
  return c;
}

Values values_of(StackForm form) { return with_opinions(initial_values(EncoderDecoder(fills_gaps(form)), 3), 40); }

Literal row_of(const std::vector<int64_t>& values) {
  return Literal::from(DType::i32, {1, static_cast<int64_t>(values.size())}, std::span<const int64_t>(values));
}

void add_text(Values& batch, const std::vector<int64_t>& ids, const std::string& prefix) {
  std::vector<int64_t> places(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) places[i] = static_cast<int64_t>(i);
  batch.emplace(prefix + (prefix.empty() ? "input_ids" : "ids"), row_of(ids));
  batch.emplace(prefix + "positions", row_of(places));
  batch.emplace(prefix + "segment_ids", row_of(std::vector<int64_t>(ids.size(), 1)));
}

class SourceGeneratorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!pjrt::find_plugin("cpu")) GTEST_SKIP() << "no CPU plugin is installed";
    static const std::shared_ptr<const Backend> cpu = Backend::open("cpu");
    backend_ = cpu;
  }
  Generator generator() const {
    return {std::make_unique<EncoderDecoder>(fills_gaps(StackForm::unroll)), values_of(StackForm::unroll), tokens_,
            backend_};
  }
  std::vector<int64_t> encode(const std::string& text) const {
    const std::vector<int32_t> ids = tokens_->encode(text);
    return {ids.begin(), ids.end()};
  }
  // Logits [T * V] of a text: the whole model, its layers in loops, over source and text at once, without padding.
  std::vector<double> logits(const std::string& source, const std::vector<int64_t>& text) const {
    const EncoderDecoder model(fills_gaps(StackForm::scan));
    const Values state = values_of(StackForm::scan);
    Values batch;
    add_text(batch, encode(source), "source_");
    add_text(batch, text, "");
    NestGraph program = nest_graph(state, batch, [&](const Nest& s, const Nest& b) {
      return Nest{{"logits", functional(model, &EncoderDecoder::logits, s, Tensor(), false, b).result}};
    });
    const Jitted whole(backend_, compile(backend_, Mesh(), make_program(program.graph)));
    return whole(nest_arguments(state, batch))[0].to_doubles();
  }
  // What a text may go on with.
  static bool is_choice(int64_t token) { return token < kVocab && token != kPadToken && token != kBosToken; }
  // The most likely choice behind each token of a text.
  std::vector<int64_t> likeliest(const std::string& source, const std::vector<int64_t>& text) const {
    const std::vector<double> all = logits(source, text);
    std::vector<int64_t> out;
    for (size_t t = 0; t < text.size(); ++t) {
      const auto logit = [&](int64_t v) { return all[t * static_cast<size_t>(kModelVocab) + static_cast<size_t>(v)]; };
      int64_t best = kEosToken;
      for (int64_t v = 0; v < kVocab; ++v) best = is_choice(v) && logit(v) > logit(best) ? v : best;
      out.push_back(best);
    }
    return out;
  }

  const std::shared_ptr<const Tokenizer> tokens_ =
      std::make_shared<SentinelTokenizer>(std::make_shared<BytesTokenizer>(BytesTokenizer::Config{}), kSentinels);
  std::shared_ptr<const Backend> backend_;
};

TEST_F(SourceGeneratorTest, GreedyIsTheArgmaxOfTheWholeModelAtEveryPlace) {
  Generator g = generator();
  for (const std::string source : {"a", "It is <extra_id_0> a truth<extra_id_1>", "sixteen letters!"}) {
    const GenerateResult got = g.generate(source, greedy(8));
    ASSERT_GT(got.tokens.size(), 0U) << source;
    std::vector<int64_t> text{kBosToken};
    text.insert(text.end(), got.tokens.begin(), got.tokens.end());
    const std::vector<int64_t> want = likeliest(source, text);
    for (size_t t = 0; t < got.tokens.size(); ++t) EXPECT_EQ(got.tokens[t], want[t]) << source << ", token " << t;
    EXPECT_EQ(got.finish == FinishReason::end_token ? want.back() : kEosToken, kEosToken);
    EXPECT_EQ(got.text.find("<extra_id_") != std::string::npos,
              std::any_of(got.tokens.begin(), got.tokens.end(), [](int32_t t) { return t >= kByteVocabSize; }));
  }
  EXPECT_NE(g.generate("a", greedy(8)).tokens, g.generate("sixteen letters!", greedy(8)).tokens);
}

TEST_F(SourceGeneratorTest, TextsOfABatchAreThoseOfEachAlone) {
  Generator g = generator();
  const std::vector<std::string> prompts{"It is", "a much longer source than the others", "<extra_id_2>", "It is", "b"};
  for (const double temperature : {0.0, 0.9}) {
    const GenerateOptions options = with(
        10,
        {.temperature = temperature, .top_k = 40, .top_p = 0.95, .min_p = 1e-4, .repetition_penalty = 1.1, .seed = 7});
    const std::vector<GenerateResult> all = g.generate_all(prompts, options);
    ASSERT_EQ(all.size(), prompts.size());
    for (size_t i = 0; i < prompts.size(); ++i) {
      GenerateOptions alone = options;
      alone.sampling.seed = 7 + static_cast<int64_t>(i);
      EXPECT_EQ(all[i].tokens, g.generate(prompts[i], alone).tokens) << prompts[i];
    }
    EXPECT_EQ(all[0].tokens == all[3].tokens, temperature == 0);
  }
}

TEST_F(SourceGeneratorTest, TheSourceIsNoRepetition) {
  Generator g = generator();
  const auto plain = g.generate("abcdef", greedy(1)).tokens;
  ASSERT_EQ(plain.size(), 1U);
  const std::string said = tokens_->decode(plain);
  const auto first = [&](double penalty) {
    return g.generate(said, with(1, {.temperature = 0, .repetition_penalty = penalty})).tokens;
  };
  EXPECT_EQ(first(1), first(100));
}

// Through the device against the search on the host, with logits of the whole model.
TEST_F(SourceGeneratorTest, BeamSearchFindsWhatTheHostDoes) {
  Generator g = generator();
  GenerateOptions options = with(4);
  options.num_beams = 2;
  options.length_penalty = 0.7;
  const std::string source = "It<extra_id_0>";
  BeamSearch search({2, 0.7, 4, {kEosToken}, {}});
  while (!search.done()) {
    std::vector<BeamSearch::Candidate> next;
    for (size_t b = 0; b < search.running().size(); ++b) {
      const BeamSearch::Beam& beam = search.running()[b];
      std::vector<int64_t> text{kBosToken};
      text.insert(text.end(), beam.tokens.begin(), beam.tokens.end());
      const std::vector<double> whole = logits(source, text);
      const std::vector<double> all(whole.end() - kModelVocab, whole.end());
      double sum = 0;
      for (int64_t v = 0; v < kVocab; ++v) sum += is_choice(v) ? std::exp(all[static_cast<size_t>(v)]) : 0;
      for (int64_t v = 0; v < kVocab; ++v) {
        const double log_p = all[static_cast<size_t>(v)] - std::log(sum);
        if (is_choice(v)) next.push_back({static_cast<int64_t>(b), v, beam.log_probability + log_p});
      }
    }
    std::stable_sort(next.begin(), next.end(),
                     [](const auto& a, const auto& b) { return a.log_probability > b.log_probability; });
    next.resize(4);
    search.advance(next);
  }
  EXPECT_EQ(g.generate(source, options).tokens, search.best().tokens);
}

TEST_F(SourceGeneratorTest, StopsAndPiecesComeAsBehindAPrompt) {
  Generator g = generator();
  std::string shown;
  const GenerateResult whole = g.generate("It is", greedy(8), [&](std::string_view s) { shown += s; });
  EXPECT_EQ(shown, whole.text);
  ASSERT_GT(whole.tokens.size(), 1U);
  GenerateOptions options = greedy(8);
  options.stop_tokens = {whole.tokens[0]};
  const GenerateResult stopped = g.generate("It is", options);
  EXPECT_EQ(stopped.text, "");
  EXPECT_EQ(stopped.finish, FinishReason::end_token);
}

TEST_F(SourceGeneratorTest, PromptsAreChecked) {
  Generator g = generator();
  EXPECT_TRUE(g.reads_source());
  const auto error = [&](const std::string& prompt, int64_t max_tokens) {
    const auto e = error_of([&] { g.check(prompt, with(max_tokens)); });
    EXPECT_TRUE(e && e->code() == ErrorCode::invalid_argument) << prompt;
    return e ? std::string(e->what()) : "";
  };
  EXPECT_THAT(error("", 5), HasSubstr("at prompt"));
  EXPECT_THAT(error("It <extra_id_3>", 5), HasSubstr("got <extra_id_3>, expected <extra_id_0> to <extra_id_2>"));
  EXPECT_THAT(error(std::string(kMaxPositions + 1, 'a'), 5), HasSubstr("at most 48"));
  EXPECT_THAT(error("a", kMaxPositions), HasSubstr("at max_tokens"));
  // The longest source there are positions for takes no more of them for padding; the text has positions of its own.
  EXPECT_EQ(g.generate(std::string(kMaxPositions, 'a'), greedy(2)).tokens,
            g.generate_all(std::vector<std::string>{std::string(kMaxPositions, 'a'), "b"}, greedy(2))[0].tokens);
}

}  // namespace
}  // namespace tenon
