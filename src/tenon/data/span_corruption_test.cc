#include "tenon/data/span_corruption.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "tenon/config/define.h"
#include "tenon/data/test_dir.h"
#include "tenon/data/text_dataset.h"
#include "tenon/data/token_dataset.h"
#include "tenon/text/byte_vocab.h"
#include "tenon/text/tokenizer.h"

namespace tenon {
namespace {

constexpr int64_t kRows = 3, kLength = 40;

// Words that tell their place, so that no two windows are alike.
std::string some_text() {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "word " + std::to_string(i * i) + " ";
  return text;
}

class SpanCorruptionTest : public TestDir {
 protected:
  SpanCorruptionTest() : file_(write("text.txt", some_text())) {}
  SpanCorruption::Config config() const {
    SpanCorruption::Config c;
    c.text.as<TextDataset>().path = file_;
    c.batch_size = kRows;
    c.sequence_length = kLength;
    c.seed = 5;
    return c;
  }
  // What the text says without gaps, by the same seed.
  TextDataset whole() const {
    TextDataset::Config c;
    c.path = file_;
    c.batch_size = kRows;
    c.sequence_length = kLength;
    c.seed = 5;
    return TextDataset(c);
  }
  std::string file_;
};

// The live tokens of a row.
std::vector<int64_t> row_of(const Batch& batch, const std::string& ids, const std::string& segments, int64_t row) {
  const Literal &tokens = batch.at(ids), &live = batch.at(segments);
  std::vector<int64_t> out;
  for (int64_t i = 0; i < tokens.dims()[1]; ++i) {
    const int64_t at = row * tokens.dims()[1] + i;
    if (live.as_int(at) > 0) out.push_back(tokens.as_int(at));
  }
  return out;
}

// The source with each sentinel replaced by what the target has behind the same one.
std::vector<int64_t> filled(const std::vector<int64_t>& source, const std::vector<int64_t>& target) {
  std::vector<int64_t> out;
  for (const int64_t token : source) {
    if (token < kByteVocabSize) {
      out.push_back(token);
      continue;
    }
    const auto gap = std::find(target.begin(), target.end(), token);
    EXPECT_NE(gap, target.end()) << token;
    for (auto it = gap + 1; it != target.end() && *it < kByteVocabSize; ++it) out.push_back(*it);
  }
  return out;
}

TEST_F(SpanCorruptionTest, SourceAndTargetTogetherAreTheText) {
  const SpanCorruption data(config());
  const TextDataset text = whole();
  std::set<std::vector<int64_t>> sources;
  for (int64_t step = 0; step < 5; ++step) {
    const Batch batch = data.batch(step), plain = text.batch(step);
    EXPECT_EQ(types_of(batch), config().batch_types());
    for (int64_t row = 0; row < kRows; ++row) {
      const auto source = row_of(batch, "source_ids", "source_segment_ids", row);
      const auto target = row_of(batch, "input_ids", "segment_ids", row);
      // 15 % of 40 are 6 tokens, in 2 gaps of 3.
      EXPECT_EQ(source.size(), 36U);
      EXPECT_EQ(target.size(), 9U);
      EXPECT_EQ(target[0], kBosToken);
      EXPECT_EQ(target[1], kByteVocabSize);
      EXPECT_LT(source[0], kByteVocabSize) << "a text begins with what stays";
      EXPECT_EQ(filled(source, target), row_of(plain, "input_ids", "segment_ids", row));
      sources.insert(source);
    }
  }
  EXPECT_EQ(sources.size(), 15U);
}

TEST_F(SpanCorruptionTest, LabelsAreTheNextTokenOfTheTarget) {
  const Batch batch = SpanCorruption(config()).batch(0);
  const Literal &ids = batch.at("input_ids"), &labels = batch.at("target_labels");
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t i = 0; i < 8; ++i) EXPECT_EQ(labels.as_int(row * 9 + i), ids.as_int(row * 9 + i + 1));
    EXPECT_EQ(labels.as_int(row * 9 + 8), kEosToken);
    for (int64_t i = 0; i < 36; ++i) EXPECT_EQ(batch.at("source_positions").as_int(row * 36 + i), i);
  }
  EXPECT_EQ(count_labels(batch), 27);
}

// What stays and what is taken out take turns, and both are cut anywhere: the first token always stays, the last is
// always taken, and in between each is as likely as any other (55 of 200, by a simulation in Python).
TEST_F(SpanCorruptionTest, GapsAreDrawnAnywhere) {
  SpanCorruption::Config c = config();
  c.noise_rate = 0.3;  // 12 tokens in 4 gaps
  const SpanCorruption data(c);
  std::vector<int> taken(kLength);
  std::set<size_t> lengths;
  for (int64_t step = 0; step < 200; ++step) {
    const Batch batch = data.batch(step);
    const auto source = row_of(batch, "source_ids", "source_segment_ids", 0);
    const auto target = row_of(batch, "input_ids", "segment_ids", 0);
    size_t at = 0;
    for (const int64_t token : source) {
      const size_t length = filled({token}, target).size();
      if (token >= kByteVocabSize) {
        lengths.insert(length);
        for (size_t i = 0; i < length; ++i) ++taken[at + i];
      }
      at += length;
    }
  }
  EXPECT_EQ(std::accumulate(taken.begin(), taken.end(), 0), 200 * 12);
  EXPECT_EQ(taken[0], 0);
  EXPECT_EQ(taken[kLength - 1], 200);
  for (size_t i = 5; i < 33; ++i) EXPECT_NEAR(taken[i], 55, 30) << i;
  EXPECT_EQ(lengths, (std::set<size_t>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST_F(SpanCorruptionTest, AnyStepAtAnyTimeAndAnyNumberOfHosts) {
  const SpanCorruption data(config()), again(config());
  again.batch(7);
  EXPECT_EQ(data.batch(3), again.batch(3));
  const Batch second = data.host_batch(3, 1, 3), all = data.batch(3);
  EXPECT_EQ(row_of(second, "source_ids", "source_segment_ids", 0), row_of(all, "source_ids", "source_segment_ids", 1));
  SpanCorruption::Config c = config();
  c.seed = 6;
  EXPECT_NE(SpanCorruption(c).batch(3), data.batch(3));
}

// Rows that end early have as many gaps as their length asks for; the last batch has rows without anything.
TEST_F(SpanCorruptionTest, TheHeldOutTextIsReadOnce) {
  const SpanCorruption data(config());
  const auto held_out = data.held_out();
  const TextDataset text = whole();
  const auto plain = text.held_out();
  ASSERT_EQ(held_out->num_batches(), plain->num_batches());
  EXPECT_EQ(held_out->held_out(), nullptr);
  int64_t shorter = 0;
  for (int64_t step = 0; step < *held_out->num_batches(); ++step) {
    const Batch batch = held_out->batch(step), full = plain->batch(step);
    EXPECT_EQ(types_of(batch), config().batch_types());
    for (int64_t row = 0; row < kRows; ++row) {
      const auto expected = row_of(full, "input_ids", "segment_ids", row);
      if (expected.size() < 2) continue;
      const auto source = row_of(batch, "source_ids", "source_segment_ids", row);
      EXPECT_EQ(filled(source, row_of(batch, "input_ids", "segment_ids", row)), expected);
      shorter += source.size() < 36 ? 1 : 0;
    }
  }
  EXPECT_EQ(shorter, 1);
  SpanCorruption::Config c = config();
  c.text.as<TextDataset>().eval_fraction = 0;
  EXPECT_EQ(SpanCorruption(c).held_out(), nullptr);
}

TEST_F(SpanCorruptionTest, CountsOfGaps) {
  SpanCorruption::Config c = config();
  const auto counts = [&](int64_t tokens) {
    const GapCounts g = c.count_gaps(tokens);
    return std::pair(g.tokens, g.gaps);
  };
  EXPECT_EQ(counts(512), std::pair(int64_t{77}, int64_t{26}));  // as T5's random_spans_noise_mask
  EXPECT_EQ(counts(2), std::pair(int64_t{1}, int64_t{1}));
  c.noise_rate = 0.99;
  c.mean_span_length = 1;
  EXPECT_EQ(counts(10), std::pair(int64_t{9}, int64_t{1}));  // one token stays, in front of one gap
  EXPECT_EQ(SpanCorruption(config()).vocab_size(), kByteVocabSize + 2);
  const std::vector<int32_t> sentinels{kByteVocabSize, kByteVocabSize + 1, kByteVocabSize + 2};
  EXPECT_EQ(SpanCorruption(config()).tokenizer()->decode(sentinels), "<extra_id_0><extra_id_1>");
}

// Has rows, but nothing to read them by.
class Numbers final : public LanguageDataset {
 public:
  struct Config : LanguageDataset::Config {
    TENON_CONFIG()
  };
  explicit Numbers(const Config&) {}
  Batch batch(int64_t) const override { return {}; }
  std::optional<int64_t> num_batches() const override { return std::nullopt; }
  std::unique_ptr<Dataset> held_out() const override { return nullptr; }
  std::string describe() const override { return "numbers"; }
};
TENON_MODULE(Numbers, LanguageDataset, "for tests")

TEST_F(SpanCorruptionTest, WhatCannotBe) {
  const auto with = [&](auto change) {
    SpanCorruption::Config c = config();
    change(c);
    return thrown([&] { (void)build_as<SpanCorruption>(c); });
  };
  EXPECT_EQ(with([](auto& c) { c.noise_rate = 1; }).path(), "noise_rate");
  EXPECT_EQ(with([](auto& c) { c.mean_span_length = 0.5; }).path(), "mean_span_length");
  EXPECT_EQ(with([](auto& c) { c.sequence_length = 1; }).path(), "sequence_length");
  EXPECT_EQ(with([](auto& c) { c.text = Numbers::Config{}; }).path(), "text");
  EXPECT_EQ(with([](auto& c) { c.text = TokenDataset::Config{}; }).path(), "text.sources");
}

}  // namespace
}  // namespace tenon
