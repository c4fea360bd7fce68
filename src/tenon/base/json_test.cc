#include "tenon/base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenon/base/error.h"

namespace tenon {
namespace {

std::string again(std::string_view text) { return Json::parse(text).value().text(); }

TEST(Json, TextReadsBack) {
  for (const char* text : {"null", "true", "-3", "18446744073709551615", "0.1", "\"a\\\"\\n\"", "[]", "{}",
                           R"([1,[2,{"a":null}],"x"])", R"({"a":1,"b":{"c":[]}})"}) {
    EXPECT_EQ(again(text), text);
  }
}

TEST(Json, ObjectsAreByKeyAndTheLastOfAKeyCounts) {
  EXPECT_EQ(again(R"({"b":1,"a":2,"b":3})"), R"({"a":2,"b":3})");
  EXPECT_EQ(Json(Json::Object{{"b", 1}, {"a", "x"}, {"b", Json::List{true, 2.5}}}).text(),
            R"({"a":"x","b":[true,2.5]})");
}

TEST(Json, WhatIsNotJson) {
  for (const char* text : {"", "{", "[1,]", "tru", "1 2", "{1:2}", "\"\xff\"", "1e999"}) {
    EXPECT_EQ(Json::parse(text).error().code(), ErrorCode::damaged) << text;
  }
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(Json::parse(nested(1000)).ok());
  EXPECT_FALSE(Json::parse(nested(1001)).ok());
  EXPECT_FALSE(Json::parse(std::string(1000000, '[')).ok());
}

TEST(Json, Numbers) {
  const Json json = Json::parse(R"({"n":-1,"u":18446744073709551615,"d":2.5,"s":"2"})").value();
  EXPECT_EQ(json.find("n")->integer(), -1);
  EXPECT_EQ(json.find("u")->integer(), std::nullopt);
  EXPECT_EQ(*json.find("u")->as<uint64_t>(), ~uint64_t{0});
  EXPECT_EQ(json.find("d")->integer(), std::nullopt);
  EXPECT_EQ(json.find("d")->number(), 2.5);
  EXPECT_EQ(json.find("n")->number(), -1.0);
  EXPECT_EQ(json.find("s")->number(), std::nullopt);
  EXPECT_EQ(json.find("x"), nullptr);
  EXPECT_EQ(Json(int8_t{7}).integer(), 7);
}

TEST(Json, WhatMustBeThere) {
  const Json json = Json::parse(R"({"n":-1,"u":7,"s":"x","l":[1,2],"o":{"a":1}})").value();
  EXPECT_EQ(json.whole_number("u", 7), 7u);
  EXPECT_EQ(json.string("s"), "x");
  EXPECT_EQ(json.list("l").size(), 2u);
  EXPECT_EQ(json.object("o").front().key, "a");
  const auto reason = [](auto read) -> std::string {
    try {
      read();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::damaged);
      return e.message();
    }
    return "nothing";
  };
  EXPECT_EQ(reason([&] { (void)json.member("x"); }), "no x");
  EXPECT_EQ(reason([&] { (void)Json("text").member("x"); }), "no x");
  EXPECT_EQ(reason([&] { (void)json.whole_number("u", 6); }), "u is out of range");
  EXPECT_EQ(reason([&] { (void)json.whole_number("n", 6); }), "n is out of range");
  EXPECT_EQ(reason([&] { (void)json.string("n"); }), "n is not text");
  EXPECT_EQ(reason([&] { (void)json.list("o"); }), "o is not a list");
  EXPECT_EQ(reason([&] { (void)json.object("l"); }), "l is not an object");
}

TEST(Json, Styles) {
  const Json json(Json::Object{{"a", Json::List{"\xc3\xa9"}}});
  EXPECT_EQ(json.text({.indent = 1}), "{\n \"a\": [\n  \"\xc3\xa9\"\n ]\n}");
  EXPECT_EQ(json.text({.ascii = true}), R"({"a":["\u00e9"]})");
  EXPECT_THROW((void)Json("\xff").text(), Error);
  EXPECT_EQ(Json("\xff").text({.replace_bad_utf8 = true}), "\"\xef\xbf\xbd\"");
}

}  // namespace
}  // namespace tenon
