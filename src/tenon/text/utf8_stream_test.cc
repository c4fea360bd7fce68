#include "tenon/text/utf8_stream.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace tenon {
namespace {

// All at once, and byte by byte: the result must be the same.
std::string stream(const std::string& bytes) {
  Utf8Stream whole;
  std::string at_once = whole.push(bytes);
  at_once += whole.finish();
  Utf8Stream pieces;
  std::string out;
  for (const char c : bytes) out += pieces.push(std::string(1, c));
  out += pieces.finish();
  EXPECT_EQ(out, at_once);
  return out;
}

TEST(Utf8Stream, WholeCharactersPass) {
  const std::string text = "ab\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80.";  // é € and an emoji
  EXPECT_EQ(stream(text), text);
  EXPECT_EQ(stream(""), "");
}

TEST(Utf8Stream, HoldsBackWhatIsUnfinished) {
  Utf8Stream s;
  EXPECT_EQ(s.push("a\xF0\x9F"), "a");
  EXPECT_EQ(s.push("\x98"), "");
  EXPECT_EQ(s.push("\x80z"), "\xF0\x9F\x98\x80z");
  EXPECT_EQ(s.push("\xE2\x82"), "");
  EXPECT_EQ(s.finish(), "\xEF\xBF\xBD");
  EXPECT_EQ(s.finish(), "");
}

// As the Unicode standard recommends (chapter 3.9, "U+FFFD substitution of maximal subparts").
TEST(Utf8Stream, WhatIsNoUtf8BecomesReplacements) {
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(stream("a\x80z"), "a" + r + "z");            // a continuation alone
  EXPECT_EQ(stream("\xC0\xAF"), r + r);                  // overlong
  EXPECT_EQ(stream("\xE0\x80\xAF"), r + r + r);          // overlong
  EXPECT_EQ(stream("\xED\xA0\x80"), r + r + r);          // a surrogate
  EXPECT_EQ(stream("\xF4\x90\x80\x80"), r + r + r + r);  // past U+10FFFF
  EXPECT_EQ(stream("\xE2\x82"
                   "a"),
            r + "a");                                                 // cut short
  EXPECT_EQ(stream("\xF0\x9F\x98\xE2\x82\xAC"), r + "\xE2\x82\xAC");  // cut short by another
  EXPECT_EQ(stream("\xFF\xFE"), r + r);
}

// Valid by the table of RFC 3629, checked by code points.
bool is_valid(const std::string& s) {
  for (size_t i = 0; i < s.size();) {
    const auto byte = [&](size_t k) { return k < s.size() ? static_cast<uint8_t>(s[k]) : 0U; };
    const uint32_t lead = byte(i);
    const size_t n = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
    if (n == 0 || i + n > s.size()) return false;
    uint32_t code = n == 1 ? lead : lead & (0x7FU >> n);
    for (size_t k = 1; k < n; ++k) {
      if (byte(i + k) >> 6 != 2) return false;
      code = code << 6 | (byte(i + k) & 0x3FU);
    }
    const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < least[n] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return false;
    i += n;
  }
  return true;
}

TEST(Utf8Stream, RandomBytesComeOutValid) {
  std::mt19937 random(5);
  const std::string likely = "a\x80\xBF\xC3\xE0\xE2\xED\xF0\xF4\x90\x9F";
  for (int trial = 0; trial < 2000; ++trial) {
    std::string bytes;
    for (int i = 0; i < 12; ++i) {
      bytes += random() % 4 != 0 ? likely[random() % likely.size()] : static_cast<char>(random() % 256);
    }
    EXPECT_TRUE(is_valid(stream(bytes))) << trial;
    if (is_valid(bytes)) {
      EXPECT_EQ(stream(bytes), bytes);
    }
  }
}

}  // namespace
}  // namespace tenon
