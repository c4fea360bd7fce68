#include "tenon/base/error.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tenon {
namespace {

std::string prefixed(const std::string& path, const std::vector<std::string>& outer) {
  Error error(ErrorCode::damaged, "the file is cut");
  error.at(path);
  for (const std::string& name : outer) error.prefix(name);
  return error.path();
}

TEST(Error, PathsGrowFromTheInsideOut) {
  EXPECT_EQ(prefixed("layers.0", {"decoder", "model"}), "model.decoder.layers.0");
  EXPECT_EQ(prefixed("", {"data"}), "data");
  EXPECT_EQ(prefixed("[2]", {"sources"}), "sources[2]");
  EXPECT_EQ(prefixed("layers.0", {""}), "layers.0");
}

TEST(Error, AFileIsNoPartOfAConfigsPath) {
  EXPECT_EQ(prefixed("data/text", {"data"}), "data: data/text");
  EXPECT_EQ(prefixed("/x/a.jsonl:3", {"data"}), "data: /x/a.jsonl:3");
  EXPECT_EQ(prefixed("./text", {"sources.1", "data"}), "data.sources.1: ./text");
}

TEST(Error, OneLineWithAllThereIs) {
  const Error error = Error(ErrorCode::io, "can't read").at("a/b").got("3").expected("4").hint("try again");
  EXPECT_STREQ(error.what(), "io at a/b: can't read (got 3, expected 4). Hint: try again");
}

}  // namespace
}  // namespace tenon
