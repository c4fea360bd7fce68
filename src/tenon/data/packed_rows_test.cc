#include "tenon/data/packed_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>

namespace tenon {
namespace {

using testing::ElementsAre;

constexpr SpecialTokens kSpecial{.bos = 1, .eos = 2, .pad = 0};

// Documents of these lengths; every token of all of them is another number, from 10 on.
class Texts {
 public:
  explicit Texts(const std::vector<int64_t>& lengths) {
    for (const int64_t length : lengths) {
      std::vector<uint16_t>& tokens = tokens_.emplace_back();
      for (int64_t i = 0; i < length; ++i) tokens.push_back(next_++);
      documents_.push_back({std::as_bytes(std::span(tokens)), true, 2});
    }
  }
  const std::vector<Document>& documents() const { return documents_; }
  int64_t num_tokens() const { return next_ - 10; }

 private:
  std::deque<std::vector<uint16_t>> tokens_;
  std::vector<Document> documents_;
  uint16_t next_ = 10;
};

std::vector<int64_t> row(const PackedRows& rows, int64_t index, int64_t length, const Literal TokenBatch::* which) {
  TokenBatch batch = empty_batch(1, length);
  RowWriter writer(batch, 0);
  rows.write(writer, index);
  std::vector<int64_t> out;
  for (int64_t i = 0; i < length; ++i) out.push_back((batch.*which).as_int(i));
  return out;
}

TEST(PackedRowsTest, ByHand) {
  // 6, 4 and 2 places in rows of 6: the second and the third go together.
  const Texts texts({1, 5, 3});
  const PackedRows rows(texts.documents(), 6, EndLabel::eos, kSpecial, 0);
  ASSERT_EQ(rows.num_rows(), 2);
  EXPECT_EQ(rows.fill(), 1);
  EXPECT_THAT(row(rows, 0, 6, &TokenBatch::input_ids), ElementsAre(1, 11, 12, 13, 14, 15));
  EXPECT_THAT(row(rows, 0, 6, &TokenBatch::target_labels), ElementsAre(11, 12, 13, 14, 15, 2));
  EXPECT_THAT(row(rows, 1, 6, &TokenBatch::input_ids), ElementsAre(1, 16, 17, 18, 1, 10));
  EXPECT_THAT(row(rows, 1, 6, &TokenBatch::target_labels), ElementsAre(16, 17, 18, 2, 10, 2));
  EXPECT_THAT(row(rows, 1, 6, &TokenBatch::segment_ids), ElementsAre(1, 1, 1, 1, 2, 2));
  EXPECT_THAT(row(rows, 1, 6, &TokenBatch::positions), ElementsAre(0, 1, 2, 3, 0, 1));
}

TEST(PackedRowsTest, TheTightestRowIsTaken) {
  // Rows of 10: 7 and 8 leave 3 and 2; what needs 2 goes behind 8, what needs 3 behind 7.
  const Texts texts({6, 7, 1, 2});
  const PackedRows rows(texts.documents(), 10, EndLabel::eos, kSpecial, 0);
  ASSERT_EQ(rows.num_rows(), 2);
  EXPECT_THAT(row(rows, 0, 10, &TokenBatch::input_ids), ElementsAre(1, 16, 17, 18, 19, 20, 21, 22, 1, 23));
}

TEST(PackedRowsTest, LongDocumentsAreCut) {
  const Texts texts({7});
  const PackedRows rows(texts.documents(), 5, EndLabel::eos, kSpecial, 0);
  ASSERT_EQ(rows.num_rows(), 2);
  EXPECT_THAT(row(rows, 0, 5, &TokenBatch::target_labels), ElementsAre(10, 11, 12, 13, 14));
  EXPECT_THAT(row(rows, 1, 5, &TokenBatch::input_ids), ElementsAre(14, 15, 16, 0, 0));
  EXPECT_THAT(row(rows, 1, 5, &TokenBatch::target_labels), ElementsAre(15, 16, 2, -1, -1));
  EXPECT_THAT(row(rows, 1, 5, &TokenBatch::segment_ids), ElementsAre(1, 1, 1, 0, 0));
}

TEST(PackedRowsTest, EveryTokenIsALabelOnceAndFewDocumentsAreCut) {
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < 500; ++i) lengths.push_back(1 + i * i % 97 + (i % 50 == 0 ? 200 : 0));
  const Texts texts(lengths);
  for (const int64_t length : {1, 2, 64, 1000}) {
    const PackedRows rows(texts.documents(), length, EndLabel::eos, kSpecial, 5);
    std::map<int64_t, int64_t> labels;
    int64_t segments = 0, places = 0;
    for (int64_t r = 0; r < rows.num_rows(); ++r) {
      for (const int64_t label : row(rows, r, length, &TokenBatch::target_labels)) ++labels[label];
      int64_t most = 0;
      for (const int64_t segment : row(rows, r, length, &TokenBatch::segment_ids)) {
        most = std::max(most, segment);
        places += segment > 0 ? 1 : 0;
      }
      segments += most;
    }
    labels.erase(-1);
    EXPECT_EQ(labels[2], 500) << length;
    labels.erase(2);
    EXPECT_EQ(static_cast<int64_t>(labels.size()), texts.num_tokens());
    for (const auto& [label, count] : labels) ASSERT_EQ(count, 1) << label;
    int64_t pieces = 0;
    for (const int64_t l : lengths) pieces += l / length + 1;
    EXPECT_EQ(segments, pieces);
    EXPECT_EQ(places, texts.num_tokens() + 500);
    EXPECT_DOUBLE_EQ(rows.fill(), static_cast<double>(places) / static_cast<double>(rows.num_rows() * length));
    EXPECT_GT(rows.fill(), 0.95);
  }
}

// Pairs of documents that share a row, by their first tokens.
std::set<std::pair<int64_t, int64_t>> neighbours(const PackedRows& rows, int64_t length) {
  std::set<std::pair<int64_t, int64_t>> out;
  for (int64_t r = 0; r < rows.num_rows(); ++r) {
    const std::vector<int64_t> ids = row(rows, r, length, &TokenBatch::input_ids);
    std::vector<int64_t> firsts;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      if (ids[i] == kSpecial.bos) firsts.push_back(ids[i + 1]);
    }
    for (const int64_t a : firsts) {
      for (const int64_t b : firsts) {
        if (a < b) out.emplace(a, b);
      }
    }
  }
  return out;
}

// Every length is another one: nothing but exchanges can put other documents together.
TEST(PackedRowsTest, AnotherSeedPutsOtherDocumentsTogether) {
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < 200; ++i) lengths.push_back(2 + i);
  const Texts texts(lengths);
  const PackedRows first(texts.documents(), 256, EndLabel::eos, kSpecial, 1), same = first.repacked(1);
  const auto before = neighbours(first, 256);
  EXPECT_EQ(neighbours(same, 256), before);
  ASSERT_GT(before.size(), 100U);
  for (uint64_t seed = 2; seed < 6; ++seed) {
    const PackedRows other = first.repacked(seed);
    EXPECT_EQ(other.num_rows(), first.num_rows());
    size_t again = 0;
    for (const auto& pair : neighbours(other, 256)) again += before.count(pair);
    EXPECT_LT(again, before.size() / 3) << seed;
    std::map<int64_t, int64_t> labels;
    for (int64_t r = 0; r < other.num_rows(); ++r) {
      for (const int64_t label : row(other, r, 256, &TokenBatch::target_labels)) ++labels[label];
    }
    EXPECT_EQ(labels[kSpecial.eos], 200);
    for (int64_t token = 10; token < 10 + texts.num_tokens(); ++token) ASSERT_EQ(labels[token], 1) << token;
  }
}

}  // namespace
}  // namespace tenon
