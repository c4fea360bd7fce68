#include "tenon/checkpoint/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "tenon/base/hash.h"

namespace tenon {
namespace {

using testing::HasSubstr;

Manifest example() {
  Manifest manifest;
  manifest.step = 120;
  manifest.metadata = {{"data_position", "480"}, {"config_sha256", "é\n"}};
  manifest.files = {{"shard_00000.safetensors", {1000, 0xffffffff}}, {"config.toml", {0, 0}}};
  manifest.tensors = {{"a.w", {"shard_00000.safetensors", 7}}};
  return manifest;
}

// The text with a checksum that fits.
std::string sealed(const std::string& json) {
  const std::string body = "{\"manifest\": " + json;
  char hex[9];
  std::snprintf(hex, sizeof(hex), "%08x", crc32c(body));
  return body + ",\n\"crc32c\": \"" + hex + "\"}\n";
}

TEST(ManifestTest, RoundTrips) {
  const std::string text = format_manifest(example());
  const Manifest read = parse_manifest(text).value();
  EXPECT_EQ(read.step, 120);
  EXPECT_EQ(read.metadata, example().metadata);
  EXPECT_EQ(read.files.at("shard_00000.safetensors").bytes, 1000u);
  EXPECT_EQ(read.files.at("shard_00000.safetensors").crc, 0xffffffffu);
  EXPECT_EQ(read.files.size(), 2u);
  EXPECT_EQ(read.tensors.at("a.w").crc, 7u);
  EXPECT_EQ(format_manifest(read), text);
}

TEST(ManifestTest, EveryChangeIsSeen) {
  const std::string good = format_manifest(example());
  for (size_t at = 0; at < good.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      ASSERT_FALSE(parse_manifest(bad).ok()) << at;
    }
    ASSERT_FALSE(parse_manifest(good.substr(0, at)).ok()) << at;
    ASSERT_FALSE(parse_manifest(good.substr(at + 1)).ok()) << at;
  }
  EXPECT_FALSE(parse_manifest(good + " ").ok());
}

TEST(ManifestTest, ContradictionsAreSeen) {
  const std::string front = R"({"format":"tenon-checkpoint","version":1,)";
  const std::string ok = front + R"("step":1,"metadata":{},"files":{},"tensors":{}})";
  EXPECT_TRUE(parse_manifest(sealed(ok)).ok());
  const std::pair<std::string, std::string> cases[] = {
      {"", "isn't JSON"},
      {"{}", "no format"},
      {"[]", "no format"},
      {"7", "no format"},
      {R"({"format":"other"})", "another format"},
      {R"({"format":1})", "format is not text"},
      {R"({"format":"tenon-checkpoint"})", "no version"},
      {front + R"("step":-1,"metadata":{},"files":{},"tensors":{}})", "step is out of range"},
      {front + R"("step":1.5,"metadata":{},"files":{},"tensors":{}})", "step is out of range"},
      {front + R"("step":9223372036854775808,"metadata":{},"files":{},"tensors":{}})", "step is out of range"},
      {front + R"("step":1,"metadata":[],"files":{},"tensors":{}})", "metadata is not an object"},
      {front + R"("step":1,"metadata":{"a":1},"files":{},"tensors":{}})", "a is not text"},
      {front + R"("step":1,"metadata":{},"files":{"../x":{"bytes":1,"crc32c":1}},"tensors":{}})", "the file name"},
      {front + R"("step":1,"metadata":{},"files":{"/etc/passwd":{"bytes":1,"crc32c":1}},"tensors":{}})",
       "the file name"},
      {front + R"("step":1,"metadata":{},"files":{"x":{"bytes":-1,"crc32c":1}},"tensors":{}})",
       "bytes is out of range"},
      {front + R"("step":1,"metadata":{},"files":{"x":{"bytes":1,"crc32c":4294967296}},"tensors":{}})",
       "crc32c is out"},
      {front + R"("step":1,"metadata":{},"files":{"x":7},"tensors":{}})", "no bytes"},
      {front + R"("step":1,"metadata":{},"files":{},"tensors":{"w":{"file":"x","crc32c":1}}})", "\"w\" is in no file"},
      {front + R"("step":1,"metadata":{},"files":{},"tensors":{"w":{"crc32c":1}}})", "no file"},
  };
  for (const auto& [json, message] : cases) {
    const Result<Manifest> manifest = parse_manifest(sealed(json));
    ASSERT_FALSE(manifest.ok()) << json;
    EXPECT_EQ(manifest.error().code(), ErrorCode::damaged);
    EXPECT_THAT(manifest.error().what(), HasSubstr(message));
  }
  EXPECT_FALSE(parse_manifest(sealed(std::string(100000, '['))).ok());
}

TEST(ManifestTest, AnotherVersionIsNotDamage) {
  const Result<Manifest> newer = parse_manifest(sealed(R"({"format":"tenon-checkpoint","version":2})"));
  ASSERT_FALSE(newer.ok());
  EXPECT_EQ(newer.error().code(), ErrorCode::unsupported);
}

TEST(ManifestTest, TextMustBeUtf8) {
  Manifest manifest;
  manifest.metadata["a"] = "\xff";
  EXPECT_THROW(format_manifest(manifest), Error);
}

}  // namespace
}  // namespace tenon
