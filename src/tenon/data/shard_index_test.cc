#include "tenon/data/shard_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tenon/base/hash.h"

namespace tenon {
namespace {

using testing::HasSubstr;

const ShardIndex kIndex{2, 17, {3, 4, 40000}, {1, 2}};

// The index with a number written over it, and its checksum made to fit.
std::string changed(size_t at, uint64_t value, size_t size) {
  std::string text = format_shard_index(kIndex);
  std::memcpy(text.data() + at, &value, size);
  const uint32_t crc = crc32c(std::string_view(text).substr(0, text.size() - 4));
  std::memcpy(text.data() + text.size() - 4, &crc, 4);
  return text;
}

std::string error(const std::string& text) {
  const Result<ShardIndex> index = parse_shard_index(as_bytes(text));
  return index.ok() ? "none" : index.error().what();
}

TEST(ShardIndexTest, BytesByHand) {
  const std::string text = format_shard_index({2, 17, {3}, {0x01020304}});
  const std::string expected(
      "TENONIDX\1\0\0\0\2\0\0\0\1\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\x11\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\4\3\2\1", 52);
  EXPECT_EQ(text.substr(0, 52), expected);
  EXPECT_EQ(text.size(), 56u);
}

TEST(ShardIndexTest, ComesBack) {
  EXPECT_EQ(parse_shard_index(as_bytes(format_shard_index(kIndex))).value(), kIndex);
  EXPECT_EQ(parse_shard_index(as_bytes(format_shard_index({4, 0, {}, {}}))).value(), (ShardIndex{4, 0, {}, {}}));
}

TEST(ShardIndexTest, AnyChangedByteIsSeen) {
  const std::string good = format_shard_index(kIndex);
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    EXPECT_NE(error(bad), "none") << at;
    EXPECT_NE(error(good.substr(0, at)), "none") << at;
  }
  EXPECT_THAT(error(good + "x"), HasSubstr("damaged"));
}

TEST(ShardIndexTest, NumbersThatContradict) {
  EXPECT_THAT(error(changed(8, 2, 4)), HasSubstr("unsupported"));
  EXPECT_THAT(error(changed(12, 3, 4)), HasSubstr("tokens of 3 bytes"));
  EXPECT_THAT(error(changed(16, uint64_t{1} << 61, 8)), HasSubstr("documents"));  // times 8 overflows
  EXPECT_THAT(error(changed(24, ~uint64_t{0}, 8)), HasSubstr("tokens"));
  EXPECT_THAT(error(changed(24, 39999, 8)), HasSubstr("documents of 40000 tokens where it says 39999"));
  EXPECT_THAT(error(changed(48, 3, 8)), HasSubstr("document 1 ends at 3, where it begins at 3"));
  EXPECT_THAT(error(changed(48, ~uint64_t{0}, 8)), HasSubstr("document 2 ends at 40000"));
}

}  // namespace
}  // namespace tenon
