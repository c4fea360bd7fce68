#include "tenon/inference/stop_strings.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

struct Result {
  std::string text;
  bool found;
  bool operator==(const Result&) const = default;
};

// The text given out for `text` in pieces of `size` bytes.
Result push(const std::vector<std::string>& stops, const std::string& text, size_t size) {
  StopStrings s(stops);
  std::string out;
  for (size_t i = 0; i < text.size(); i += size) out += s.push(std::string_view(text).substr(i, size));
  return {out + s.finish(), s.found()};
}

TEST(StopStrings, EndTheTextWhateverThePieces) {
  for (const size_t size : {1, 2, 3, 100}) {
    EXPECT_EQ(push({"end"}, "the end of it", size), (Result{"the ", true})) << size;
    EXPECT_EQ(push({"aab"}, "aaaab!", size), (Result{"aa", true})) << size;
    EXPECT_EQ(push({"xyz", "o"}, "xyxyo", size), (Result{"xyxy", true})) << size;
    EXPECT_EQ(push({"end"}, "an en", size), (Result{"an en", false})) << size;
    EXPECT_EQ(push({}, "all of it", size), (Result{"all of it", false})) << size;
    // The one that is complete first; of two that are complete together, the longer.
    EXPECT_EQ(push({"bcd", "abcde", "c"}, "abcdef", size), (Result{"ab", true})) << size;
    EXPECT_EQ(push({"d", "bcd"}, "abcdef", size), (Result{"a", true})) << size;
  }
}

TEST(StopStrings, HoldBackNoMoreThanTheyMust) {
  StopStrings s({"stop", "op"});
  EXPECT_EQ(s.push("a st"), "a ");
  EXPECT_EQ(s.push("a"), "sta");
  EXPECT_EQ(s.push("o"), "");
  EXPECT_EQ(s.push("o"), "o");
  EXPECT_EQ(s.push("p"), "");
  EXPECT_TRUE(s.found());
  EXPECT_EQ(s.push("more"), "");
  EXPECT_EQ(s.finish(), "");
}

}  // namespace
}  // namespace tenon
