#include "tenon/base/hash.h"

#include <gtest/gtest.h>

#include <vector>

namespace tenon {
namespace {

TEST(HashTest, Sha256PublishedVectors) {
  // FIPS 180-4 examples.
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(HashTest, Sha256InPiecesIsTheSame) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 7);
  for (size_t length = 0; length < text.size(); ++length) {
    const std::string part = text.substr(0, length);
    Sha256 pieces;
    for (size_t i = 0; i < length; i += 13) pieces.update(part.substr(i, 13));
    const std::string middle = pieces.hex();
    EXPECT_EQ(middle, sha256_hex(part));
    EXPECT_EQ(pieces.hex(), middle);
  }
}

TEST(HashTest, Crc32cPublishedVectors) {
  // RFC 3720, B.4, and the check value of the polynomial.
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(""), 0u);
  std::vector<std::byte> bytes(32);
  EXPECT_EQ(crc32c(bytes), 0x8a9136aau);
  bytes.assign(32, std::byte{0xff});
  EXPECT_EQ(crc32c(bytes), 0x62a8ab43u);
  for (size_t i = 0; i < 32; ++i) bytes[i] = static_cast<std::byte>(i);
  EXPECT_EQ(crc32c(bytes), 0x46dd794eu);
  for (size_t i = 0; i < 32; ++i) bytes[i] = static_cast<std::byte>(31 - i);
  EXPECT_EQ(crc32c(bytes), 0x113fdb5cu);
}

TEST(HashTest, Crc32cContinues) {
  const std::string text = "the quick brown fox jumps over the lazy dog";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(crc32c(text.substr(cut), crc32c(text.substr(0, cut))), crc32c(text));
  }
}

}  // namespace
}  // namespace tenon
