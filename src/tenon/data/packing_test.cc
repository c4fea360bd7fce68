#include "tenon/data/packing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenon/base/hash.h"

namespace tenon {
namespace {

using testing::ElementsAre;

std::vector<int64_t> values(const Literal& literal, int64_t row = 0) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < literal.dims()[1]; ++i) out.push_back(literal.as_int(row * literal.dims()[1] + i));
  return out;
}

TEST(PackingTest, TwoDocumentsInOneRow) {
  const PackedStream stream({{as_bytes("The")}, {as_bytes("An")}}, EndLabel::eos);
  EXPECT_EQ(stream.length(), 7);
  EXPECT_EQ(stream.num_tokens(), 5);
  const std::vector<int64_t> starts = {0, 2};
  const TokenBatch batch = stream.circular_batch(starts, 6);
  EXPECT_EQ(to_string(batch.input_ids.type()), "i32[2,6]");
  EXPECT_THAT(values(batch.input_ids), ElementsAre(257, 'T', 'h', 'e', 257, 'A'));
  EXPECT_THAT(values(batch.target_labels), ElementsAre('T', 'h', 'e', 258, 'A', 'n'));
  EXPECT_THAT(values(batch.segment_ids), ElementsAre(1, 1, 1, 1, 2, 2));
  EXPECT_THAT(values(batch.positions), ElementsAre(0, 1, 2, 3, 0, 1));
  // Starts inside a document, runs over the end to the beginning.
  EXPECT_THAT(values(batch.input_ids, 1), ElementsAre('h', 'e', 257, 'A', 'n', 257));
  EXPECT_THAT(values(batch.target_labels, 1), ElementsAre('e', 258, 'A', 'n', 258, 'T'));
  EXPECT_THAT(values(batch.segment_ids, 1), ElementsAre(1, 1, 2, 2, 2, 3));
  EXPECT_THAT(values(batch.positions, 1), ElementsAre(0, 1, 0, 1, 2, 0));
  EXPECT_EQ(count_labels(to_batch(batch)), 12);
}

TEST(PackingTest, ACutDocumentHasNoEnd) {
  const PackedStream stream({{as_bytes("ab"), false}, {as_bytes("\xff"), true}}, EndLabel::eos);
  const std::vector<int64_t> starts = {0};
  const TokenBatch batch = stream.circular_batch(starts, 5);
  EXPECT_THAT(values(batch.target_labels), ElementsAre('a', 'b', -1, 255, 258));
  EXPECT_EQ(count_labels(to_batch(batch)), 4);
}

TEST(PackingTest, SequentialPadsTheEnd) {
  const PackedStream stream({{as_bytes("abcd")}}, EndLabel::ignored);
  const TokenBatch batch = stream.sequential_batch(1, 2, 3);
  EXPECT_THAT(values(batch.input_ids), ElementsAre('c', 'd', 256));
  EXPECT_THAT(values(batch.target_labels), ElementsAre('d', -1, -1));
  EXPECT_THAT(values(batch.segment_ids), ElementsAre(1, 1, 0));
  EXPECT_THAT(values(batch.input_ids, 1), ElementsAre(256, 256, 256));
  EXPECT_THAT(values(batch.target_labels, 1), ElementsAre(-1, -1, -1));
  EXPECT_THAT(values(batch.segment_ids, 1), ElementsAre(0, 0, 0));
  EXPECT_EQ(count_labels(to_batch(batch)), 1);
}

TEST(PackingTest, TokensOfSeveralBytes) {
  const std::vector<uint16_t> small = {500, 65535};
  const std::vector<uint32_t> large = {70000, 3};
  const PackedStream stream({{std::as_bytes(std::span(small)), true, 2}, {std::as_bytes(std::span(large)), true, 4}},
                            EndLabel::eos, {.bos = 1, .eos = 2, .pad = 0});
  const TokenBatch batch = stream.sequential_batch(0, 1, 8);
  EXPECT_THAT(values(batch.input_ids), ElementsAre(1, 500, 65535, 1, 70000, 3, 0, 0));
  EXPECT_THAT(values(batch.target_labels), ElementsAre(500, 65535, 2, 70000, 3, 2, -1, -1));
  EXPECT_THAT(values(batch.positions), ElementsAre(0, 1, 2, 0, 1, 2, 0, 0));
}

}  // namespace
}  // namespace tenon
