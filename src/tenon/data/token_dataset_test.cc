#include "tenon/data/token_dataset.h"

#include <gmock/gmock.h>

#include <map>

#include "tenon/config/registry.h"
#include "tenon/data/prepare.h"
#include "tenon/data/register.h"
#include "tenon/data/test_dir.h"
#include "tenon/text/bytes_tokenizer.h"
#include "tenon/text/sentencepiece_tokenizer.h"
#include "tenon/text/train_sentencepiece.h"

namespace tenon {
namespace {

using testing::HasSubstr;

class TokenDatasetTest : public TestDir {
 protected:
  static void SetUpTestSuite() { register_data(Registry::global()); }

  // Prepared documents, as bytes: document i is 3 + i * i % 40 times a letter of its own kind.
  std::string prepare(const std::string& name, int documents, char first = 'a') const {
    std::string lines;
    for (int i = 0; i < documents; ++i) {
      const auto letter = static_cast<char>(first + i % 13);
      lines += "{\"text\": \"" + std::string(static_cast<size_t>(3 + i * i % 40), letter) + "\"}\n";
    }
    write(name + ".jsonl", lines);
    PrepareOptions options;
    options.inputs = {path(name + ".jsonl")};
    options.out = path(name);
    options.shard_tokens = 500;
    (void)prepare_data(BytesTokenizer({}), options);
    return path(name);
  }
  static TokenSource::Config source(const std::string& path, double weight = 1) {
    TokenSource::Config config;
    config.path = path;
    config.weight = weight;
    return config;
  }
  static TokenDataset::Config options(const std::vector<TokenSource::Config>& sources) {
    TokenDataset::Config config;
    config.batch_size = 4;
    config.sequence_length = 32;
    config.seed = 7;
    config.eval_fraction = 0;
    for (const TokenSource::Config& s : sources) config.sources.push_back(s);
    return config;
  }
  // How often each byte (or end) is a label in rows [begin, end).
  static std::map<int64_t, int64_t> labels(const Dataset& dataset, int64_t begin, int64_t end) {
    std::map<int64_t, int64_t> out;
    for (int64_t step = begin / 4; step * 4 < end; ++step) {
      const Batch batch = dataset.batch(step);
      for (int64_t row = 0; row < 4; ++row) {
        if (step * 4 + row < begin || step * 4 + row >= end) continue;
        for (int64_t i = 0; i < 32; ++i) ++out[batch.at("target_labels").as_int(row * 32 + i)];
      }
    }
    out.erase(-1);
    return out;
  }
  static void expect_same(const Batch& a, const Batch& b) {
    EXPECT_EQ(a.at("input_ids"), b.at("input_ids"));
    EXPECT_EQ(a.at("target_labels"), b.at("target_labels"));
    EXPECT_EQ(a.at("segment_ids"), b.at("segment_ids"));
    EXPECT_EQ(a.at("positions"), b.at("positions"));
    EXPECT_EQ(count_labels(a), count_labels(b));
  }
  std::string error(const TokenDataset::Config& config) const {
    return thrown([&] { (void)build_as<TokenDataset>(config); }).what();
  }
};

TEST_F(TokenDatasetTest, EveryTokenIsALabelOnceAnEpoch) {
  TokenDataset::Config config = options({source(prepare("a", 200))});
  config.sources[0]->epochs = 1;
  const TokenDataset once(config);
  const int64_t rows = [&] {  // padding rows fill the last batch
    int64_t count = 0;
    for (int64_t step = 0; step < *once.num_batches(); ++step) {
      const Batch batch = once.batch(step);
      for (int64_t row = 0; row < 4; ++row) count += batch.at("segment_ids").as_int(row * 32) > 0 ? 1 : 0;
    }
    return count;
  }();
  std::map<int64_t, int64_t> expected;
  for (int i = 0; i < 200; ++i) expected['a' + i % 13] += 3 + i * i % 40;
  expected[258] = 200;
  EXPECT_EQ(labels(once, 0, *once.num_batches() * 4), expected);
  EXPECT_EQ(*once.num_batches(), (rows + 3) / 4);
  EXPECT_THROW(once.batch(*once.num_batches()), Error);
  config.sources[0]->epochs = 0;
  const TokenDataset forever(config);
  EXPECT_FALSE(forever.num_batches().has_value());
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    EXPECT_EQ(labels(forever, epoch * rows, (epoch + 1) * rows), expected) << epoch;
  }
  EXPECT_FALSE(forever.batch(0).at("input_ids") == forever.batch(rows).at("input_ids"));
}

TEST_F(TokenDatasetTest, AnyStepAtAnyTimeWhateverTheNumberOfHosts) {
  const std::string a = prepare("a", 90), b = prepare("b", 40, 'A');
  for (const Packing packing : {Packing::best_fit, Packing::stream}) {
    TokenDataset::Config config = options({source(a, 0.75), source(b, 0.25)});
    config.packing = packing;
    const TokenDataset one(config), other(config);
    // Resumed twice, in the first epoch and far behind it.
    std::vector<Batch> straight;
    for (int64_t step = 0; step < 60; ++step) straight.push_back(one.batch(step));
    for (const int64_t start : {23, 47}) {
      for (int64_t step = start; step < 60; ++step)
        expect_same(TokenDataset(config).batch(step), straight[static_cast<size_t>(step)]);
    }
    for (const int64_t step : {int64_t{3}, int64_t{59}, int64_t{1} << 40}) {
      const Batch whole = one.batch(step);
      for (const int64_t hosts : {1, 2, 4}) {
        int64_t tokens = 0;
        for (int64_t host = 0; host < hosts; ++host) {
          const Batch part = other.host_batch(step, host, hosts);
          tokens += count_labels(part);
          for (int64_t i = 0; i < part.at("input_ids").size(); ++i) {
            ASSERT_EQ(part.at("input_ids").as_int(i),
                      whole.at("input_ids").as_int(host * part.at("input_ids").size() + i));
            ASSERT_EQ(part.at("target_labels").as_int(i),
                      whole.at("target_labels").as_int(host * part.at("input_ids").size() + i));
          }
        }
        EXPECT_EQ(tokens, count_labels(whole));
      }
    }
    EXPECT_THROW(one.host_batch(0, 0, 3), Error);
    EXPECT_THROW(one.batch(-1), Error);
    EXPECT_THROW(one.batch(int64_t{1} << 62), Error);
    config.seed = 8;
    EXPECT_FALSE(TokenDataset(config).batch(3).at("input_ids") == straight[3].at("input_ids"));
  }
}

TEST_F(TokenDatasetTest, SourcesHaveTheirSharesAndEpochs) {
  TokenDataset::Config config = options({source(prepare("a", 90), 0.8), source(prepare("b", 40, 'A'), 0.2)});
  config.batch_size = 100;
  const TokenDataset dataset(config);
  int64_t from_b = 0;
  for (int64_t step = 0; step < 20; ++step) {
    const Batch batch = dataset.batch(step);
    for (int64_t row = 0; row < 100; ++row) from_b += batch.at("target_labels").as_int(row * 32) < 'a' ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(from_b), 0.2 * 2000, 2);
  // The data ends where the second source would come to its third epoch.
  config.sources[1]->epochs = 2;
  config.batch_size = 4;
  const TokenDataset ending(config);
  std::map<int64_t, int64_t> seen = labels(ending, 0, 4 * *ending.num_batches());
  std::map<int64_t, int64_t> whole;
  for (int i = 0; i < 40; ++i) whole['A' + i % 13] += 3 + i * i % 40;
  for (const auto& [letter, count] : whole) {
    EXPECT_EQ(seen[letter], 2 * count);
  }
}

TEST_F(TokenDatasetTest, FiltersLeaveDocumentsOut) {
  TokenDataset::Config config = options({source(prepare("a", 200))});
  config.sources[0]->epochs = 1;
  config.sources[0]->min_tokens = 5;
  config.sources[0]->max_tokens = 20;
  std::map<int64_t, int64_t> expected;
  for (int i = 0; i < 200; ++i) {
    const int length = 3 + i * i % 40;
    if (length < 5 || length > 20) continue;
    expected['a' + i % 13] += length;
    ++expected[258];
  }
  const TokenDataset dataset(config);
  EXPECT_EQ(labels(dataset, 0, 4 * *dataset.num_batches()), expected);
  config.sources[0]->min_tokens = 18;
  config.sources[0]->max_tokens = 18;
  EXPECT_THAT(error(config),
              HasSubstr("no document is left (got 200 documents, none of 18 tokens or more and at most 18)"));
}

TEST_F(TokenDatasetTest, HeldOutTokensAreLabelledOnceAndNeverTrainedOn) {
  TokenDataset::Config config = options({source(prepare("a", 200))});
  config.eval_fraction = 0.1;
  config.sources[0]->epochs = 1;
  const TokenDataset dataset(config);
  const auto held_out = dataset.held_out();
  std::map<int64_t, int64_t> all = labels(dataset, 0, 4 * *dataset.num_batches());
  int64_t evaluated = 0, last_rows = 0;
  for (int64_t step = 0; step < *held_out->num_batches(); ++step) {
    evaluated += count_labels(held_out->batch(step));
    last_rows = held_out->batch(step).at("segment_ids").as_int(3 * 32 + 31);
  }
  EXPECT_EQ(last_rows, 0);  // padding
  for (const auto& [label, count] : labels(*held_out, 0, 4 * *held_out->num_batches())) all[label] += count;
  std::map<int64_t, int64_t> expected;
  int64_t total = 0;
  for (int i = 0; i < 200; ++i) {
    expected['a' + i % 13] += 3 + i * i % 40;
    total += 3 + i * i % 40;
  }
  all.erase(258);
  EXPECT_EQ(all, expected);
  EXPECT_EQ(evaluated, total / 10);
  EXPECT_EQ(held_out->num_text_bytes(), total / 10);
  config.eval_fraction = 0;
  EXPECT_EQ(TokenDataset(config).held_out(), nullptr);
  config.eval_paths = {prepare("c", 10)};
  EXPECT_EQ(TokenDataset(config).held_out()->num_text_bytes(), 3 + 4 + 7 + 12 + 19 + 28 + 39 + 12 + 27 + 4);
}

TEST_F(TokenDatasetTest, PiecesStandForBytesOfText) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += std::to_string(i * 7919 % 1000) + (i % 9 == 0 ? ".\n" : " word ");
  int given = 0;
  const std::string model = train_sentencepiece({280, PieceModel::bpe}, [&]() -> std::optional<std::string> {
    return given++ == 0 ? std::optional(text) : std::nullopt;
  });
  SentencePieceTokenizer::Config tokenizer;
  tokenizer.path = write("m.model", model);
  write("t.txt", text);
  PrepareOptions prepared;
  prepared.inputs = {path("t.txt")};
  prepared.out = path("t");
  const PrepareReport report = prepare_data(SentencePieceTokenizer(tokenizer), prepared);
  EXPECT_EQ(report.text_bytes, text.size());
  EXPECT_LT(report.tokens, text.size());
  TokenDataset::Config config = options({source(prepare("a", 3))});
  config.sources[0]->path = path("t");
  config.eval_paths = {path("t")};
  const TokenDataset dataset(config);
  EXPECT_EQ(dataset.held_out()->num_text_bytes(), static_cast<int64_t>(text.size()));
  EXPECT_EQ(dataset.tokenizer()->vocab_size(), 280);
  // Two tokenizers don't mix.
  config.eval_paths = {path("a")};
  EXPECT_THAT(error(config), HasSubstr("sources of different tokenizers don't fit together"));
}

TEST_F(TokenDatasetTest, MistakesNameTheirPlace) {
  const std::string a = prepare("a", 30);
  EXPECT_THAT(error(options({})), HasSubstr("sources: must name at least one"));
  EXPECT_THAT(error(options({source(path("none"))})), HasSubstr("there is no prepared data"));
  EXPECT_THAT(error(options({source(a, 0.5), source(a, 0.6)})), HasSubstr("1.1 in all, expected 1"));
  EXPECT_THAT(error(options({source(a, 0.5)})), HasSubstr("0.5 in all"));
  TokenDataset::Config config = options({source(a)});
  config.eval_fraction = 0.0001;
  EXPECT_THAT(error(config), HasSubstr("the held-out part is too short"));
  config.eval_fraction = 0.5;
  config.eval_paths = {a};
  EXPECT_THAT(error(config), HasSubstr("must be 0 when eval_paths are given"));
  config = options({source(a)});
  config.packing = Packing::stream;
  config.sequence_length = 100000;
  EXPECT_THAT(error(config), HasSubstr("the documents don't fill one row"));
  config = options({source(a)});
  config.sources[0]->max_tokens = 0;
  EXPECT_THAT(error(config), HasSubstr("max_tokens"));
  const std::string tokens = read_file(path("a/shard_00000.tokens")).value();
  write("a/shard_00000.tokens", std::string(tokens.size(), '\1'));
  const TokenDataset changed(options({source(a)}));
  const Error damaged = thrown([&] {
    for (int64_t step = 0; step < 20; ++step) (void)changed.batch(step);
  });
  EXPECT_EQ(damaged.code(), ErrorCode::damaged);
  EXPECT_THAT(damaged.what(), HasSubstr("shard_00000.tokens: the tokens from byte 0 to"));
}

TEST_F(TokenDatasetTest, DescribesItself) {
  EXPECT_THAT(TokenDataset(options({source(prepare("a", 200))})).describe(),
              testing::MatchesRegex(".*/a: 200 documents, .*k tokens in .* rows, 9.* % full; 0 tokens held out"));
}

}  // namespace
}  // namespace tenon
