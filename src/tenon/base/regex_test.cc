#include "tenon/base/regex.h"

#include <gmock/gmock.h>

#include "tenon/base/clock.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

std::string refused(const std::string& pattern) {
  const Result<Regex> regex = Regex::compile(pattern);
  return regex.ok() ? "" : regex.error().what();
}

TEST(Regex, FindsAPartAndMatchesTheWhole) {
  const Regex regex = Regex::compile("b[0-9]{1,3}(c|d)").value();
  EXPECT_TRUE(regex.finds("ab12d."));
  EXPECT_FALSE(regex.matches("ab12d"));
  EXPECT_TRUE(regex.matches("b12d"));
  EXPECT_FALSE(regex.finds("b1234d"));
  EXPECT_TRUE(Regex::compile("^(?!embedding).*weight$").value().finds("decoder.weight"));
  EXPECT_FALSE(Regex::compile("^(?!embedding).*weight$").value().finds("embedding.weight"));
  EXPECT_TRUE(Regex::compile("p5\\.48\\(").value().matches("p5.48("));
}

// Backtracking takes 2^60 steps for the first, and a stack that grows with the text for the last.
TEST(Regex, NoneHangs) {
  const double began = steady_seconds();
  const std::string text(60, 'a');
  for (const std::string& pattern :
       {std::string("(a+)+c"), std::string("((a*)*)*c"), std::string("(a|a)*c"), repeated("a?", 60) + "c",
        std::string("(a{1,50})*c"), std::string("(?=.*(?=.*(a+)+c))")}) {
    const Regex regex = Regex::compile(pattern).value();
    EXPECT_FALSE(regex.finds(text)) << pattern;
    EXPECT_FALSE(regex.matches(text)) << pattern;
  }
  EXPECT_TRUE(Regex::compile("(.|a)*").value().matches(std::string(20000, 'a')));
  EXPECT_LT(steady_seconds() - began, 20);
}

TEST(Regex, WhatIsRefused) {
  EXPECT_THAT(refused("("), HasSubstr("invalid_argument: must be a regular expression (ECMAScript): "));
  EXPECT_THAT(refused("(a)\\1"), HasSubstr("without back-references"));
  EXPECT_THAT(refused(repeated("(", 60000) + repeated(")", 60000)), HasSubstr("at most 1000 characters"));
  EXPECT_THAT(refused(repeated("(", 101) + repeated(")", 101)), HasSubstr("at most 100 parentheses in one another"));
  EXPECT_EQ(refused(repeated("(", 100) + repeated(")", 100) + repeated("(a)", 100)), "");
  EXPECT_EQ(refused(repeated("\\(", 400)), "");
  EXPECT_THAT(refused("((a?){100}){100}"), HasSubstr("at most 5000 parts"));
  EXPECT_THAT(refused("a{1,99999999999999999999999}"), HasSubstr("at most 5000 parts"));
  EXPECT_THAT(refused("(?=a)(?=b)(?=c)"), HasSubstr("at most 2 look-aheads"));
  EXPECT_EQ(refused(repeated("a|", 499) + "a"), "");
}

}  // namespace
}  // namespace tenon
