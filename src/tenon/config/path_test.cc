#include "tenon/config/path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenon/config/test_util.h"

namespace tenon {
namespace {

TEST(Path, ParsesAndFormats) {
  EXPECT_EQ(parse_path("layers.0.a-b_c"), (Path{"layers", "0", "a-b_c"}));
  EXPECT_EQ(parse_path(""), Path{});
  EXPECT_EQ(parse_path(R"(m."a.b \"c\"".'d e')"), (Path{"m", "a.b \"c\"", "d e"}));
  for (const char* text : {"a", "a.0.b", R"(m."a.b".c)", R"(m."")"}) EXPECT_EQ(format_path(parse_path(text)), text);
  const Path odd = {"a\n\t\x01\x7f\"\\", "é"};
  EXPECT_EQ(parse_path(format_path(odd)), odd);
  for (const char* text : {".", "a.", ".a", "a b", "a.\"b", "\"a\"b", "a.\"b\\", "\"\\u12\""}) {
    EXPECT_EQ(thrown([&] { (void)parse_path(text); }).code(), ErrorCode::invalid_argument) << text;
  }
}

TEST(Path, IsOfBoundedDepth) {
  std::string path = "a";
  for (int i = 1; i < 100; ++i) path += ".a";
  EXPECT_EQ(parse_path(path).size(), 100U);
  EXPECT_THAT(thrown([&] { (void)parse_path(path + ".a"); }).what(), testing::HasSubstr("more than 100 parts"));
}

TEST(Path, OrdersNumbersByValue) {
  EXPECT_TRUE(path_less({"l", "2"}, {"l", "10"}));
  EXPECT_TRUE(path_less({"l", "10"}, {"l", "a"}));
  EXPECT_TRUE(path_less({"l"}, {"l", "0"}));
  EXPECT_FALSE(path_less({"l", "a"}, {"l", "a"}));
  EXPECT_TRUE(path_less({"a", "z"}, {"b"}));
}

}  // namespace
}  // namespace tenon
