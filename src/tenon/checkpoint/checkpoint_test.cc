#include "tenon/checkpoint/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tenon/checkpoint/checkpoint_test_util.h"
#include "tenon/checkpoint/safetensors.h"

namespace tenon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using CheckpointTest = CheckpointDirTest;

TEST_F(CheckpointTest, RoundTrip) {
  save({120});
  EXPECT_THAT(list_dir(path("step_00000120")).value(),
              ElementsAre("MANIFEST.json", "config.toml", "shard_00000.safetensors", "shard_00001.safetensors"));
  const OpenedCheckpoint checkpoint = open_latest(dir_).value();
  expect_is_example(checkpoint, 120);
  EXPECT_TRUE(checkpoint.warnings().empty());
  EXPECT_THAT(checkpoint.names(), ElementsAre("count", "decoder.emb", "decoder.layers.0.w"));
  EXPECT_EQ(to_string(checkpoint.type("decoder.layers.0.w").value()), "f32[3,2]");
  EXPECT_EQ(checkpoint.read_block("decoder.layers.0.w", {{1, 0}, {2, 2}}).value(),
            Literal::from(DType::f32, {2, 2}, std::vector<double>{2, 3, 4, 120}));
  EXPECT_EQ(checkpoint.read("decoder.embb").error().hint(), "did you mean decoder.emb?");
  EXPECT_EQ(checkpoint.file("none").error().code(), ErrorCode::not_found);
  EXPECT_EQ(checkpoint.read_block("count", {{0}, {1}}).error().code(), ErrorCode::invalid_argument);
}

TEST_F(CheckpointTest, OneFileWhenItAllFits) {
  CheckpointWriter::open(dir_).value().save(example_request(1)).value();
  EXPECT_EQ(SafetensorsFile::open(path("step_00000001/shard_00000.safetensors")).value().tensors().size(), 3u);
}

TEST_F(CheckpointTest, NothingButTextsIsFine) {
  CheckpointWriter::open(dir_).value().save({.step = 0, .files = {{"a", "b"}}}).value();
  EXPECT_TRUE(open_latest(dir_).value().names().empty());
}

TEST_F(CheckpointTest, NoCheckpoint) {
  EXPECT_EQ(open_latest(dir_).error().code(), ErrorCode::not_found);
  save({});
  EXPECT_EQ(open_latest(dir_).error().code(), ErrorCode::not_found);
}

TEST_F(CheckpointTest, StepNames) {
  EXPECT_EQ(step_dir_name(120), "step_00000120");
  EXPECT_EQ(parse_step_dir_name("step_00000120"), 120);
  EXPECT_EQ(parse_step_dir_name(step_dir_name(123456789012)), 123456789012);
  for (const char* name : {"step_120", "step_00000120.tmp-0123456789abcdef", "step_-0000001", "step_000000120", "x"}) {
    EXPECT_EQ(parse_step_dir_name(name), std::nullopt) << name;
  }
}

// Every file of the newest checkpoint, changed in one way, must be found out.
class DamageTest : public CheckpointDirTest {
 protected:
  DamageTest() { save({100, 120}); }
  std::vector<std::string> files() const { return list_dir(path("step_00000120")).value(); }
  // Without waiting for the disk.
  static void overwrite(const std::string& file, const std::string& bytes) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  }
  void expect_fallback(const std::string& name, const std::string& what) const {
    const Result<OpenedCheckpoint> opened = open_latest(dir_);
    ASSERT_TRUE(opened.ok()) << name << " " << what << ": " << opened.error().what();
    ASSERT_EQ((*opened).step(), 100) << name << " " << what;
    ASSERT_EQ((*opened).warnings().size(), 1u);
    ASSERT_THAT((*opened).warnings()[0], HasSubstr("step_00000120/" + name)) << what;
  }
};

TEST_F(DamageTest, AnyChangedBit) {
  for (const std::string& name : files()) {
    const std::string file = path("step_00000120/" + name), good = read_file(file).value();
    for (size_t at = 0; at < good.size(); ++at) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << (at % 8)));
      overwrite(file, bad);
      expect_fallback(name, "byte " + std::to_string(at));
    }
    overwrite(file, good);
  }
  expect_is_example(open_latest(dir_).value(), 120);
}

TEST_F(DamageTest, AnyCutOrLongerFile) {
  for (const std::string& name : files()) {
    const std::string file = path("step_00000120/" + name), good = read_file(file).value();
    for (size_t length = 0; length < good.size(); length += 7) {
      overwrite(file, good.substr(0, length));
      expect_fallback(name, "cut to " + std::to_string(length));
    }
    overwrite(file, good + '\0');
    expect_fallback(name, "one byte more");
    remove_tree(file).value();
    expect_fallback(name, "removed");
    overwrite(file, good);
  }
}

TEST_F(DamageTest, TheMessageNamesTheTensor) {
  const std::string file = path("step_00000120/shard_00000.safetensors");
  std::string bytes = read_file(file).value();
  const TensorInfo last = SafetensorsFile::open(file).value().tensors().back();
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_file_atomic(file, bytes).value();
  const Error error = OpenedCheckpoint::open(path("step_00000120")).error();
  EXPECT_EQ(error.code(), ErrorCode::damaged);
  EXPECT_THAT(error.what(), HasSubstr("tensor \"" + last.name + "\" at bytes " + std::to_string(last.begin)));
  // Opened without reading everything, the damage shows when the tensor is read.
  const OpenedCheckpoint opened = OpenedCheckpoint::open(path("step_00000120"), Verify::sizes).value();
  EXPECT_EQ(opened.read(last.name).error().code(), ErrorCode::damaged);
}

TEST_F(DamageTest, FilesOfAnotherStep) {
  for (const std::string& name : files()) {
    const std::string file = path("step_00000120/" + name), good = read_file(file).value();
    write_file_atomic(file, read_file(path("step_00000100/" + name)).value()).value();
    const Result<OpenedCheckpoint> opened = open_latest(dir_);
    EXPECT_EQ((*opened).step(), 100) << name;
    overwrite(file, good);
  }
}

TEST_F(DamageTest, ARenamedCheckpoint) {
  std::filesystem::rename(path("step_00000100"), path("step_00000300"));
  const OpenedCheckpoint opened = open_latest(dir_).value();
  EXPECT_EQ(opened.step(), 120);
  EXPECT_THAT(opened.warnings()[0], HasSubstr("of another step (got 100, expected 300)"));
}

TEST_F(DamageTest, NoneIsGood) {
  for (const char* step : {"step_00000100", "step_00000120"})
    write_file_atomic(path(step) + "/MANIFEST.json", "").value();
  const Result<OpenedCheckpoint> opened = open_latest(dir_);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code(), ErrorCode::damaged);
  EXPECT_THAT(opened.error().what(), HasSubstr("step_00000120 can't be used"));
  EXPECT_THAT(opened.error().what(), HasSubstr("step_00000100 can't be used"));
  EXPECT_THAT(opened.error().hint(), HasSubstr("tenon checkpoint verify"));
}

TEST_F(DamageTest, ADirectoryAndALinkInPlaceOfAFile) {
  const std::string file = path("step_00000120/config.toml");
  remove_tree(file).value();
  make_dirs(file).value();
  expect_fallback("config.toml", "directory");
}

TEST_F(DamageTest, UnfinishedOnesAreNotSeen) {
  std::filesystem::rename(path("step_00000120"), path("step_00000120.tmp-0123456789abcdef"));
  const OpenedCheckpoint opened = open_latest(dir_).value();
  EXPECT_EQ(opened.step(), 100);
  EXPECT_TRUE(opened.warnings().empty());
}

}  // namespace
}  // namespace tenon
