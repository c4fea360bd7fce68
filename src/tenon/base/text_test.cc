#include "tenon/base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

namespace tenon {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(TextTest, SplitAndJoin) {
  EXPECT_THAT(split("a,,b", ','), ElementsAre("a", "", "b"));
  EXPECT_THAT(split("", ','), ElementsAre(""));
  EXPECT_THAT(split("a.", '.'), ElementsAre("a", ""));
  EXPECT_EQ(join({"a", "", "b"}, "::"), "a::::b");
  EXPECT_EQ(join({}, ","), "");
}

TEST(TextTest, QuotedIsPrintable) {
  EXPECT_EQ(quote_text("decoder.w"), "\"decoder.w\"");
  EXPECT_EQ(quote_text("a\"b\\c\n\x1b\xff"), "\"a\\\"b\\\\c\\x0a\\x1b\\xff\"");
  EXPECT_EQ(quote_text(std::string(1000, 'a')), "\"" + std::string(100, 'a') + "...\"");
}

TEST(TextTest, NearestNames) {
  const std::vector<std::string> fields = {"num_heads", "hidden_dim", "num_layers", "head_dim", "rope"};
  EXPECT_THAT(nearest_names("num_head", fields, 1), ElementsAre("num_heads"));
  EXPECT_THAT(nearest_names("hiden-Dim", fields, 1), ElementsAre("hidden_dim"));
  EXPECT_THAT(nearest_names("hidden", fields), ElementsAre("hidden_dim"));
  EXPECT_THAT(nearest_names("reop", fields), ElementsAre("rope"));
  EXPECT_THAT(nearest_names("optimizer", fields), IsEmpty());
  EXPECT_THAT(nearest_names("", fields), IsEmpty());
  EXPECT_THAT(nearest_names("x", {}), IsEmpty());
  EXPECT_THAT(nearest_names("ab", {"ac", "ab", "ad", "ae"}, 3), ElementsAre("ab", "ac", "ad"));
  EXPECT_EQ(did_you_mean("rop", fields), "did you mean rope?");
  EXPECT_EQ(did_you_mean("ab", {"ac", "ad", "ae"}), "did you mean ac, ad or ae?");
  EXPECT_EQ(did_you_mean("optimizer", fields), "");
}

TEST(TextTest, BytesAndCounts) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(1024 * 1024 - 1), "1.0 MiB");
  EXPECT_EQ(format_bytes(std::numeric_limits<uint64_t>::max()), "16.0 EiB");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(13'800'000), "13.8M");
  EXPECT_EQ(format_count(999'999), "1.0M");
  EXPECT_EQ(format_count(7'000'000'000), "7.0B");
}

TEST(TextTest, FloatsAreShortAndReadBack) {
  EXPECT_EQ(format_float(1), "1.0");
  EXPECT_EQ(format_float(-0.0), "-0.0");
  EXPECT_EQ(format_float(0.1), "0.1");
  EXPECT_EQ(format_float(3e-4), "3e-4");
  EXPECT_EQ(format_float(1e22), "1e22");
  EXPECT_EQ(format_float(1e-10), "1e-10");
  EXPECT_EQ(format_float(1e100), "1e100");
  EXPECT_EQ(format_float(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(format_float(std::nan("")), "nan");
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    const double value = std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 400) - 200);
    EXPECT_EQ(std::strtod(format_float(value).c_str(), nullptr), value);
    EXPECT_EQ(parse_double(format_float(value)).value(), value);
  }
}

TEST(TextTest, NumbersAreStrict) {
  EXPECT_EQ(parse_int("-9223372036854775808").value(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(parse_int("007").value(), 7);
  EXPECT_EQ(parse_double("-1.5e3").value(), -1500);
  for (const char* text : {"", " 1", "1 ", "1.0", "0x10", "9223372036854775808", "one", "+1", "--1"}) {
    EXPECT_FALSE(parse_int(text).ok()) << text;
  }
  for (const char* text : {"", "1,5", "1e", "1e999", " 1", "1.0f"}) EXPECT_FALSE(parse_double(text).ok()) << text;
}

}  // namespace
}  // namespace tenon
