#include "tenon/inference/generator.h"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "tenon/base/file.h"
#include "tenon/checkpoint/checkpoint.h"
#include "tenon/checkpoint/checkpoint_writer.h"
#include "tenon/config/define.h"
#include "tenon/config/text.h"
#include "tenon/inference/beam_search.h"
#include "tenon/inference/testing/generate.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/register.h"
#include "tenon/nn/testing/tiny_lm.h"
#include "tenon/pjrt/plugin.h"
#include "tenon/text/byte_vocab.h"
#include "tenon/text/register.h"
#include "tenon/text/saved_tokenizer.h"

namespace tenon {

// Knows what follows each token and nothing else: after script[i] comes script[i + 1]. It looks the token up in its
// cache, so that what is written there, and where, matters.
class ScriptedModel final : public LanguageModel {
 public:
  struct Config : LanguageModel::Config {
    std::vector<int64_t> script;
    TENON_CONFIG(script)
  };
  explicit ScriptedModel(const Config& c) : LanguageModel(c), vocab_size_(c.vocab_size), script_(c.script) {}
  LossSum forward(const Nest&) const override { return {}; }
  Nest init_cache(const CacheSizes& sizes) const override {
    return {{"ids", zeros({DType::i32, {sizes.batch_size, sizes.max_len}})}};
  }
  std::pair<Nest, Tensor> extend_step(const Nest& cache, const Tensor& ids, const Tensor& start,
                                      const Tensor& last) const override {
    if (start.rank() == 1) {  // rows of different lengths
      const Tensor id = take_along(ids, expand_dims(maximum(last, zeros_like(last)), 1), 1);
      return {cache, take(table(), squeeze(id, 1))};
    }
    const Tensor zero = zeros({DType::i32, {}});
    const Tensor all = dynamic_update_slice(cache.at("ids"), ids, std::vector<Tensor>{zero, start});
    const Tensor id = dynamic_slice(all, std::vector<Tensor>{zero, start + last}, {ids.dim(0), 1});
    return {Nest{{"ids", all}}, take(table(), squeeze(id, 1))};
  }

 private:
  // Special tokens are always likely; they must never be chosen.
  Tensor table() const {
    Literal t(TensorType{DType::f32, {vocab_size_, vocab_size_}});
    for (int64_t row = 0; row < vocab_size_; ++row) {
      for (const int64_t special : {kPadToken, kBosToken}) t.set(row * vocab_size_ + special, 99);
    }
    for (size_t i = 0; i + 1 < script_.size(); ++i) t.set(script_[i] * vocab_size_ + script_[i + 1], 9);
    return constant(t);
  }
  int64_t vocab_size_;
  std::vector<int64_t> script_;
};
TENON_MODULE(ScriptedModel, LanguageModel, "for tests")

class MuteModel final : public Model {
 public:
  struct Config : Model::Config {
    TENON_CONFIG()
  };
  explicit MuteModel(const Config& c) : Model(c) {}
  LossSum forward(const Nest&) const override { return {}; }
};
TENON_MODULE(MuteModel, Model, "for tests: no language model")

// What a trainer's config looks like from here.
class SomeRun final : public Configurable {
 public:
  struct Config : AnyConfig {
    Slot<Model> model;
    TENON_CONFIG(model)
  };
  explicit SomeRun(const Config&) {}
};
TENON_MODULE(SomeRun, Configurable, "for tests")

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

CausalLm::Config byte_lm(StackForm form) {
  CausalLm::Config c = tiny_lm(form);
  c.vocab_size = kByteVocabSize;
  c.decoder.as<Decoder>().num_layers = 2;
  return c;
}

Values opinionated_values(StackForm form) { return with_opinions(initial_values(CausalLm(byte_lm(form)), 3), 50); }

std::string text_of(size_t length) {
  std::string out;
  for (size_t i = 0; i < length; ++i) out += static_cast<char>('a' + i * i % 23);
  return out;
}

class GeneratorTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    register_nn(Registry::global());
    register_text(Registry::global());
    Registry::global().add<SomeRun, MuteModel, ScriptedModel>();
  }
  void SetUp() override {
    if (!pjrt::find_plugin("cpu")) GTEST_SKIP() << "no CPU plugin is installed";
    static const std::shared_ptr<const Backend> cpu = Backend::open("cpu");
    backend_ = cpu;
  }
  ~GeneratorTest() override { remove_tree(dir_).value(); }

  Generator tiny() const {
    return {std::make_unique<CausalLm>(byte_lm(StackForm::unroll)), opinionated_values(StackForm::unroll), bytes_,
            backend_};
  }
  Generator scripted(const std::vector<int64_t>& script) const {
    ScriptedModel::Config c;
    c.vocab_size = kByteVocabSize;
    c.script = script;
    return {std::make_unique<ScriptedModel>(c), {}, bytes_, backend_};
  }
  GenerateResult write(const std::vector<int64_t>& script, std::string_view prompt, int64_t max_tokens) const {
    return scripted(script).generate(prompt, greedy(max_tokens));
  }
  // A checkpoint of `model` in dir_, as a training run leaves one.
  void save(const Slot<Model>& model, const Values& values, bool with_tokenizer = true) const {
    SomeRun::Config config;
    config.model = model;
    SaveRequest request;
    request.step = 12;
    if (with_tokenizer) request.files = tokenizer_files(*bytes_);
    request.files["config.toml"] = to_toml(config);
    for (const auto& [name, value] : unstack(values)) request.tensors.emplace_back(name, value);
    request.tensors.emplace_back("learner.count", Literal::scalar(DType::f32, 12));
    CheckpointWriter::open(dir_).value().save(request).value();
  }
  std::string load_error(ErrorCode code) const {
    const auto e = error_of([&] { Generator(dir_, backend_); });
    EXPECT_TRUE(e && e->code() == code) << (e ? e->what() : "no error");
    return e ? e->what() : "";
  }

  const std::shared_ptr<const Tokenizer> bytes_ = open_tokenizer("bytes");
  std::shared_ptr<const Backend> backend_;
  std::string dir_ = testing::TempDir() + "tenon_generator_" + random_suffix();
};

// The scanned model over whole texts of up to T tokens at once: what comes behind a token doesn't matter to it.
class WholeModel {
 public:
  WholeModel(const std::shared_ptr<const Backend>& backend, int64_t T)
      : state_(opinionated_values(StackForm::scan)), program_(backend, compile_for(backend, T)), T_(T) {}
  // Logits [T * V].
  std::vector<double> logits(std::vector<int64_t> ids) const {
    ids.resize(static_cast<size_t>(T_), kPadToken);
    return program_(nest_arguments(state_, batch(ids)))[0].to_doubles();
  }

 private:
  static Values batch(const std::vector<int64_t>& ids) {
    const Literal row = Literal::from(DType::i32, {1, static_cast<int64_t>(ids.size())}, std::span<const int64_t>(ids));
    Literal positions(row.type());
    for (int64_t i = 0; i < row.size(); ++i) positions.set_int(i, i);
    return {{"input_ids", row}, {"positions", positions}, {"segment_ids", Literal(row.type())}};
  }
  Executable compile_for(const std::shared_ptr<const Backend>& backend, int64_t T) const {
    const CausalLm model(byte_lm(StackForm::scan));
    NestGraph program =
        nest_graph(state_, batch(std::vector<int64_t>(static_cast<size_t>(T))), [&](const Nest& s, const Nest& b) {
          return Nest{{"logits", functional(model, &CausalLm::logits, s, Tensor(), false, b).result}};
        });
    return compile(backend, Mesh(), make_program(program.graph));
  }
  Values state_;
  Jitted program_;
  int64_t T_;
};

// The most likely byte or end at every place behind the prompt.
std::vector<int64_t> likeliest(const std::shared_ptr<const Backend>& backend, const std::vector<int64_t>& ids,
                               int64_t prompt_length) {
  const std::vector<double> logits = WholeModel(backend, static_cast<int64_t>(ids.size())).logits(ids);
  std::vector<int64_t> best;
  for (int64_t t = prompt_length - 1; t < static_cast<int64_t>(ids.size()); ++t) {
    const auto logit = [&](int64_t v) { return logits[static_cast<size_t>(t * kByteVocabSize + v)]; };
    int64_t winner = kEosToken;
    for (int64_t v = 0; v < kPadToken; ++v) winner = logit(v) > logit(winner) ? v : winner;
    best.push_back(winner);
  }
  return best;
}

// log softmax, of bytes and the end alone, of what follows a text.
std::vector<double> log_probabilities(const WholeModel& model, const std::vector<int64_t>& ids) {
  const std::vector<double> all = model.logits(ids);
  const auto begin = all.begin() + (static_cast<int64_t>(ids.size()) - 1) * kByteVocabSize;
  std::vector<double> out(begin, begin + kByteVocabSize);
  double sum = 0;
  for (int64_t v = 0; v < kByteVocabSize; ++v) {
    if (v != kPadToken && v != kBosToken) sum += std::exp(out[static_cast<size_t>(v)]);
  }
  for (double& x : out) x -= std::log(sum);
  return out;
}

// Greedy decoding through the cache against the whole model at once. The long prompt takes two pieces.
TEST_F(GeneratorTest, GreedyIsTheArgmaxOfTheWholeModelAtEveryPlace) {
  Generator g = tiny();
  for (const size_t length : {0, 5, 31, 270}) {
    const std::string prompt = text_of(length);
    const GenerateResult got = g.generate(prompt, greedy(12));
    std::vector<int64_t> ids{kBosToken};
    for (const int32_t t : bytes_->encode(prompt)) ids.push_back(t);
    const auto prompt_length = static_cast<int64_t>(ids.size());
    ids.insert(ids.end(), got.tokens.begin(), got.tokens.end());
    std::vector<int64_t> want = likeliest(backend_, ids, prompt_length);
    ASSERT_EQ(want.size(), got.tokens.size() + 1);
    if (got.finish == FinishReason::end_token) {
      EXPECT_EQ(want.back(), kEosToken);
    } else {
      EXPECT_EQ(got.tokens.size(), 12U);
    }
    want.pop_back();
    EXPECT_EQ(std::vector<int64_t>(got.tokens.begin(), got.tokens.end()), want) << "prompt of " << length;
  }
}

TEST_F(GeneratorTest, TheCacheIsDonatedAndNotCopied) {
  CausalLm::Config c = byte_lm(StackForm::unroll);
  attention_of(c).head_dim = 32;
  auto model = std::make_unique<CausalLm>(c);
  const Values values = initial_values(*model, 1);
  Generator g(std::move(model), values, bytes_, backend_);
  EXPECT_EQ(g.memory().alias, 0);
  g.generate(text_of(1000), with(5));
  // layers x (keys, values) x kv heads x length x head dim x bytes
  constexpr int64_t kCacheBytes = 2 * 2 * 2 * 1024 * 32 * 4;
  constexpr int64_t kCountBytes = kByteVocabSize * 4;
  EXPECT_EQ(g.memory().alias, kCacheBytes + kCountBytes);
  EXPECT_LT(g.memory().temporary, kCacheBytes / 4);
}

TEST_F(GeneratorTest, TheSeedDecidesTheText) {
  Generator g = tiny();
  const GenerateResult first = g.generate("It is", with(20, {.seed = 5}));
  EXPECT_EQ(g.generate("It is", with(20, {.seed = 5})).tokens, first.tokens);
  EXPECT_EQ(tiny().generate("It is", with(20, {.seed = 5})).tokens, first.tokens);
  EXPECT_NE(g.generate("It is", with(20, {.seed = 6})).tokens, first.tokens);
  EXPECT_NE(g.generate("It is", with(20, {.seed = 5 + (int64_t{1} << 32)})).tokens, first.tokens);
  // Fewer tokens are the same ones.
  EXPECT_EQ(g.generate("It is", with(4, {.seed = 5})).tokens,
            std::vector<int32_t>(first.tokens.begin(), first.tokens.begin() + 4));
  EXPECT_EQ(g.generate("It is", with(9, {.temperature = 5, .top_k = 1})).tokens,
            g.generate("It is", with(9, {.temperature = 0})).tokens);
}

TEST_F(GeneratorTest, StopsAtTheEndOfTheText) {
  const GenerateResult got = write({'a', 'b', 'c', kEosToken}, "xa", 10);
  EXPECT_EQ(got.text, "bc");
  EXPECT_EQ(got.finish, FinishReason::end_token);
  EXPECT_EQ(write({kBosToken, kEosToken}, "", 10).text, "");
}

TEST_F(GeneratorTest, StopsAtMaxTokens) {
  const std::vector<int64_t> script{'a', 'b', 'c', 'a'};
  EXPECT_EQ(write(script, "a", 7).text, "bcabcab");
  EXPECT_EQ(write(script, "a", 7).finish, FinishReason::max_tokens);
  EXPECT_EQ(write(script, "a", 1).text, "b");
  EXPECT_EQ(write(script, "a", 0).text, "");
}

TEST_F(GeneratorTest, StopsAtStringsAndTokens) {
  const std::vector<int64_t> script{'a', 'b', 'c', 'd', 'a'};
  GenerateOptions options = greedy(20);
  options.stop = {"dab", "xyz"};
  std::string shown;
  GenerateResult got = scripted(script).generate("a", options, [&](std::string_view s) { shown += s; });
  EXPECT_EQ(got.text, "bc");
  EXPECT_EQ(shown, "bc");
  EXPECT_EQ(got.tokens.size(), 5U);
  EXPECT_EQ(got.finish, FinishReason::stop_string);
  options = greedy(20);
  options.stop_tokens = {'d'};
  got = scripted(script).generate("a", options);
  EXPECT_EQ(got.text, "bc");
  EXPECT_EQ(got.finish, FinishReason::end_token);
  // A text that might have become a stop string is shown when it didn't.
  options = greedy(4);
  options.stop = {"dabx"};
  EXPECT_EQ(scripted(script).generate("a", options).text, "bcda");
}

TEST_F(GeneratorTest, RepetitionIsPenalized) {
  // After 'a' comes 'b' (logit 9) or else the most likely of nothing, the first byte (logit 0).
  const std::vector<int64_t> script{'a', 'b', 'a'};
  EXPECT_EQ(write(script, "a", 4).text, "baba");
  // 9 / 100 is still above 0; only prompt and text count, so that 'b' is as likely as before.
  EXPECT_EQ(scripted(script).generate("a", with(4, {.temperature = 0, .repetition_penalty = 100})).text, "baba");
  Generator g = tiny();
  const auto repeats = [&](double penalty) {
    const auto tokens = g.generate("It is", with(30, {.temperature = 0, .repetition_penalty = penalty})).tokens;
    return tokens.size() - std::set<int32_t>(tokens.begin(), tokens.end()).size();
  };
  EXPECT_LT(repeats(100), repeats(1));
}

// What is drawn for a text depends on its seed and prompt alone.
TEST_F(GeneratorTest, TextsOfABatchAreThoseOfEachAlone) {
  Generator g = tiny();
  const std::vector<std::string> prompts{"It is", "a", "It is", "I was", "It is", "b"};
  const GenerateOptions options = with(12, {.temperature = 0.9, .top_p = 0.95, .repetition_penalty = 1.1, .seed = 7});
  const std::vector<GenerateResult> all = g.generate_all(prompts, options);
  ASSERT_EQ(all.size(), prompts.size());
  for (size_t i = 0; i < prompts.size(); ++i) {
    GenerateOptions alone = options;
    alone.sampling.seed = 7 + static_cast<int64_t>(i);
    const GenerateResult want = g.generate(prompts[i], alone);
    EXPECT_EQ(all[i].tokens, want.tokens) << i;
    EXPECT_EQ(all[i].text, want.text) << i;
  }
  EXPECT_NE(all[0].tokens, all[2].tokens);
  EXPECT_TRUE(g.generate_all({}, options).empty());
}

// Prompts of one piece and of several, which end at the end of a piece and elsewhere, greedy and drawn.
TEST_F(GeneratorTest, SlowPromptsOfDifferentLengthsAreWrittenTogether) {
  Generator g = tiny();
  const auto piece = static_cast<size_t>(Generator::kPrefillTokens);
  const std::vector<std::string> prompts{"", text_of(piece - 1), "It is", text_of(piece + 9)};
  for (const double temperature : {0.0, 0.8}) {
    const GenerateOptions options = with(8, {.temperature = temperature, .repetition_penalty = 1.2, .seed = 3});
    const std::vector<GenerateResult> all = g.generate_all(prompts, options);
    for (size_t i = 0; i < prompts.size(); ++i) {
      GenerateOptions alone = options;
      alone.sampling.seed = 3 + static_cast<int64_t>(i);
      EXPECT_EQ(all[i].tokens, g.generate(prompts[i], alone).tokens) << prompts[i].size();
    }
    // In other company.
    const std::vector<std::string> two{prompts[0], prompts[3]};
    EXPECT_EQ(g.generate_all(two, options)[0].tokens, all[0].tokens);
  }
}

TEST_F(GeneratorTest, PromptsOfDifferentLengthsStopApart) {
  Generator g = scripted({'a', 'b', 'c', 'd', kEosToken});
  const std::vector<std::string> prompts{"xxb", "a", "xxxxc"};
  GenerateOptions options = greedy(5);
  options.stop = {"d"};
  auto all = g.generate_all(prompts, options);
  EXPECT_EQ(all[0].text, "c");
  EXPECT_EQ(all[1].text, "bc");
  EXPECT_EQ(all[2].text, "");
  for (const auto& result : all) EXPECT_EQ(result.finish, FinishReason::stop_string);
  all = g.generate_all(prompts, greedy(2));
  EXPECT_EQ(all[0].text, "cd");
  EXPECT_EQ(all[0].finish, FinishReason::max_tokens);
  EXPECT_EQ(all[2].text, "d");
  EXPECT_EQ(all[2].finish, FinishReason::end_token);
}

TEST_F(GeneratorTest, TextsOfABatchEndApart) {
  Generator g = scripted({'a', 'b', 'c', kEosToken});
  const std::vector<std::string> prompts{"b", "a", "c"};
  const auto all = g.generate_all(prompts, greedy(2));
  EXPECT_EQ(all[0].text, "c");
  EXPECT_EQ(all[0].finish, FinishReason::end_token);
  EXPECT_EQ(all[1].text, "bc");
  EXPECT_EQ(all[1].finish, FinishReason::max_tokens);
  EXPECT_EQ(all[2].text, "");
}

// Through the device against the search on the host, with logits of the whole model.
TEST_F(GeneratorTest, BeamSearchFindsWhatTheHostDoes) {
  Generator g = tiny();
  GenerateOptions options = with(5);
  options.num_beams = 3;
  options.length_penalty = 0.7;
  BeamSearch search({3, 0.7, 5, {kEosToken}, {}});
  const WholeModel whole(backend_, 8);
  const std::vector<int64_t> prompt{kBosToken, 'I', 't'};
  while (!search.done()) {
    std::vector<BeamSearch::Candidate> next;
    for (size_t b = 0; b < search.running().size(); ++b) {
      std::vector<int64_t> ids = prompt;
      const BeamSearch::Beam& beam = search.running()[b];
      ids.insert(ids.end(), beam.tokens.begin(), beam.tokens.end());
      const std::vector<double> log_p = log_probabilities(whole, ids);
      for (int64_t v = 0; v < kByteVocabSize; ++v) {
        if (v == kPadToken || v == kBosToken) continue;
        next.push_back({static_cast<int64_t>(b), v, beam.log_probability + log_p[static_cast<size_t>(v)]});
      }
    }
    std::stable_sort(next.begin(), next.end(),
                     [](const auto& a, const auto& b) { return a.log_probability > b.log_probability; });
    next.resize(6);
    search.advance(next);
  }
  const GenerateResult got = g.generate("It", options);
  EXPECT_EQ(got.tokens, search.best().tokens);
  options.num_beams = 1;
  options.length_penalty = 1;
  options.sampling.temperature = 0;
  EXPECT_NE(g.generate("It", options).tokens, got.tokens) << "greedy is another text here";
}

TEST_F(GeneratorTest, BeamsEndWhereTextsDo) {
  GenerateOptions options = with(6);
  options.num_beams = 2;
  const std::vector<int64_t> script{'a', 'b', 'c', kEosToken};
  GenerateResult got = scripted(script).generate("xa", options);
  EXPECT_EQ(got.text, "bc");
  EXPECT_EQ(got.finish, FinishReason::end_token);
  options.stop = {"c"};
  got = scripted(script).generate("xa", options);
  EXPECT_EQ(got.text, "b");
  EXPECT_EQ(got.finish, FinishReason::stop_string);
  options.max_tokens = 1;
  EXPECT_EQ(scripted(script).generate("xa", options).text, "b");
  options.max_tokens = 0;
  EXPECT_EQ(scripted(script).generate("xa", options).text, "");
  // A prompt of two pieces.
  options = with(6);
  options.num_beams = 2;
  EXPECT_EQ(scripted(script).generate(std::string(300, 'x') + "a", options).text, "bc");
}

TEST_F(GeneratorTest, LongPromptsGoInByPieces) {
  const std::vector<int64_t> script{'a', 'b', 'c', 'a'};
  // With the first token in front these fill a piece less one, exactly, plus one, and two pieces exactly.
  for (const size_t length : {254, 255, 256, 511, 700}) {
    EXPECT_EQ(write(script, std::string(length - 1, 'x') + "b", 4).text, "cabc") << length;
  }
}

TEST_F(GeneratorTest, TextComesAsWholeCharacters) {
  // é ! € and the beginning of something
  Generator g = scripted({'a', 0xC3, 0xA9, '!', 0xE2, 0x82, 0xAC, 0xF0});
  std::vector<std::string> pieces;
  const auto got = g.generate("a", greedy(7), [&](std::string_view s) { pieces.emplace_back(s); });
  EXPECT_EQ(pieces, (std::vector<std::string>{"\xC3\xA9", "!", "\xE2\x82\xAC", "\xEF\xBF\xBD"}));
  EXPECT_EQ(got.text, "\xC3\xA9!\xE2\x82\xAC\xEF\xBF\xBD");
  EXPECT_EQ(got.tokens.size(), 7U);
}

TEST_F(GeneratorTest, LengthsAreChecked) {
  Generator g = tiny();
  const auto path_of_error = [&](const std::string& prompt, int64_t max_tokens) {
    const auto e = error_of([&] { g.generate(prompt, with(max_tokens)); });
    EXPECT_TRUE(e && e->code() == ErrorCode::invalid_argument);
    const auto checked = error_of([&] { g.check(prompt, with(max_tokens)); });
    EXPECT_EQ(checked ? checked->what() : std::string(), e ? e->what() : std::string());
    return e ? e->path() : "";
  };
  EXPECT_EQ(path_of_error("a", -1), "max_tokens");
  EXPECT_EQ(path_of_error("a", Generator::kMaxLength - 1), "max_tokens");
  EXPECT_EQ(path_of_error("a", INT64_MAX), "max_tokens");
  EXPECT_EQ(path_of_error(std::string(Generator::kMaxLength, 'a'), 0), "prompt");
  EXPECT_EQ(error_of([&] { g.generate("a", with(1, {.temperature = -1})); })->path(), "temperature");
  GenerateOptions stopping = with(1);
  stopping.stop_tokens = {kByteVocabSize};
  EXPECT_EQ(error_of([&] { g.check("a", stopping); })->path(), "stop_tokens");
  g.check("a", with(1));
}

TEST_F(GeneratorTest, ReadsACheckpointsDirectoryAlone) {
  save(byte_lm(StackForm::scan), opinionated_values(StackForm::scan));
  const auto want = tiny().generate("It is", with(10, {})).tokens;
  Generator of_run(dir_, backend_);
  EXPECT_EQ(of_run.step(), 12);
  EXPECT_EQ(of_run.generate("It is", with(10, {})).tokens, want);
  EXPECT_EQ(Generator(join_path(dir_, step_dir_name(12)), backend_).generate("It is", with(10, {})).tokens, want);
}

TEST_F(GeneratorTest, WritesWithRunningMeans) {
  const Values means = opinionated_values(StackForm::scan);
  Values start = initial_values(CausalLm(byte_lm(StackForm::scan)), 3);
  const auto make = [&] { return Generator(dir_, backend_, ParameterSet::means); };
  save(byte_lm(StackForm::scan), start);
  EXPECT_EQ(error_of(make)->code(), ErrorCode::not_found);
  remove_tree(dir_).value();
  for (const auto& [name, value] : means) start.emplace("learner.ema." + name, value);
  save(byte_lm(StackForm::scan), start);
  EXPECT_EQ(make().generate("It is", with(10)).tokens, tiny().generate("It is", with(10)).tokens);
  EXPECT_NE(Generator(dir_, backend_).generate("It is", with(10)).tokens, tiny().generate("It is", with(10)).tokens);
}

TEST_F(GeneratorTest, SaysWhatIsWrongWithADirectory) {
  load_error(ErrorCode::not_found);
  save(byte_lm(StackForm::scan), opinionated_values(StackForm::scan));
  const std::string shard = join_path(dir_, step_dir_name(12) + "/shard_00000.safetensors");
  write_file_atomic(shard, read_file(shard).value() + "x").value();
  load_error(ErrorCode::damaged);
}

TEST_F(GeneratorTest, TheModelMustWriteText) {
  save(MuteModel::Config{}, {});
  EXPECT_THAT(load_error(ErrorCode::unsupported), AllOf(HasSubstr("MuteModel"), HasSubstr("config.toml")));
  save(byte_lm(StackForm::scan), opinionated_values(StackForm::scan), false);
  EXPECT_THAT(load_error(ErrorCode::unsupported), HasSubstr("has no tokenizer"));
  CausalLm::Config few = byte_lm(StackForm::scan);
  few.vocab_size = kByteVocabSize - 1;
  save(few, initial_values(CausalLm(few), 3));
  EXPECT_THAT(load_error(ErrorCode::incompatible), AllOf(HasSubstr("tokenizer.toml"), HasSubstr("at most 258")));
}

TEST_F(GeneratorTest, ParametersMustBeThoseOfTheModel) {
  CausalLm::Config wide = byte_lm(StackForm::scan);
  wide.model_dim = 16;
  save(wide, opinionated_values(StackForm::scan));
  EXPECT_THAT(load_error(ErrorCode::incompatible), HasSubstr("decoder.layers.0.attention.output.weight"));
  const auto e =
      error_of([&] { Generator(std::make_unique<CausalLm>(byte_lm(StackForm::unroll)), {}, bytes_, backend_); });
  ASSERT_TRUE(e);
  EXPECT_EQ(e->code(), ErrorCode::missing_field);
  EXPECT_EQ(e->path(), "embedding.weight");
}

}  // namespace
}  // namespace tenon
