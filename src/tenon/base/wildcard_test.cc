#include "tenon/base/wildcard.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace tenon {
namespace {

TEST(Wildcard, StandsForAnyText) {
  for (const auto& [pattern, text] : {std::pair{"", ""},
                                      {"*", ""},
                                      {"*", "a.b"},
                                      {"a*", "a"},
                                      {"*b*", "abc"},
                                      {"a*b*c", "axxbyybc"},
                                      {"**", "x"},
                                      {"*ab", "aab"}}) {
    EXPECT_TRUE(matches_wildcard(pattern, text)) << pattern << " " << text;
  }
  for (const auto& [pattern, text] :
       {std::pair{"", "a"}, {"a", ""}, {"a*b", "a"}, {"*b", "abc"}, {"a*b*c", "acb"}, {"a", "aa"}}) {
    EXPECT_FALSE(matches_wildcard(pattern, text)) << pattern << " " << text;
  }
}

TEST(Wildcard, ManyStarsTakeNoLongTime) {
  std::string pattern;
  for (int i = 0; i < 500; ++i) pattern += "a*";
  EXPECT_FALSE(matches_wildcard(pattern + "b", std::string(20000, 'a')));
}

}  // namespace
}  // namespace tenon
