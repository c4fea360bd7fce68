#include "tenon/base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace tenon {
namespace {

TEST(Utf8, WhatIsACharacter) {
  for (const std::string text : {"", "a", "a\x7f", "\u00e9\u20ac", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80",
                                 "\xed\x9f\xbf", "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
    if (!text.empty()) {
      EXPECT_TRUE(utf8_front(text).whole()) << text;
    }
  }
  EXPECT_TRUE(is_utf8(std::string(3, '\0')));
}

TEST(Utf8, WhatIsNone) {
  // A lone continuation, overlong forms, a surrogate, past 10FFFF, bytes that never occur, cut ones.
  for (const std::string text :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80", "\xfe", "\xff", "\xc3", "\xe2\x82", "\xf0\x9f\x98"}) {
    EXPECT_FALSE(is_utf8(text));
    EXPECT_FALSE(utf8_front(text).whole());
    EXPECT_EQ(utf8_prefix("ab\u20ac" + text + "z"), 5U);
  }
}

}  // namespace
}  // namespace tenon
