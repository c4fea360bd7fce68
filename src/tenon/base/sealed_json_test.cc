#include "tenon/base/sealed_json.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

// The checksum is that of crc32c (RFC 3720) over all before it, by another program.
TEST(SealedJson, IsJsonWithItsChecksum) {
  EXPECT_EQ(seal_json("a", "[1]"), "{\"a\": \"[1]\",\n\"crc32c\": \"00e4b7b6\"}\n");
  EXPECT_EQ(unseal_json("a", seal_json("a", Json::List{1, Json()})).value().text(), "[1,null]");
}

TEST(SealedJson, EveryOtherByteAndEveryCutIsSeen) {
  const std::string text = seal_json("list", Json::Object{{"x", 7}});
  for (size_t i = 0; i < text.size(); ++i) {
    EXPECT_FALSE(unseal_json("list", text.substr(0, i)).ok()) << i;
    std::string other = text;
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_FALSE(unseal_json("list", other).ok()) << i;
  }
  EXPECT_FALSE(unseal_json("other", text).ok());
  EXPECT_FALSE(unseal_json("list", text + "\n").ok());
}

}  // namespace
}  // namespace tenon
