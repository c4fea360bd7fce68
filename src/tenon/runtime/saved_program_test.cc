#include "tenon/runtime/saved_program.h"

#include <gmock/gmock.h>

#include "tenon/base/file.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

SavedProgram sample() {
  SavedProgram out{{"p1", "f1", "plugin API 0.1", "4 x TPU v5"}, std::string("\0\nbytes\xff", 8)};
  return out;
}

std::string sample_file() {
  std::string path = ::testing::TempDir() + "/saved_program";
  EXPECT_TRUE(sample().write(path).ok());
  return path;
}

TEST(SavedProgram, ComesBackWithItsKey) {
  const std::string path = sample_file();
  const SavedProgram back = SavedProgram::read(path, sample().key).value();
  EXPECT_EQ(back.key, sample().key);
  EXPECT_EQ(back.bytes, sample().bytes);
}

TEST(SavedProgram, AnotherKeyIsRefused) {
  const std::string path = sample_file();
  const auto expect_refused = [&](std::string SavedProgram::Key::* part, const char* what) {
    SavedProgram::Key key = sample().key;
    key.*part += "x";
    const Result<SavedProgram> got = SavedProgram::read(path, key);
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().code(), ErrorCode::incompatible);
    EXPECT_THAT(got.error().what(), HasSubstr(what));
  };
  expect_refused(&SavedProgram::Key::program, "another program");
  expect_refused(&SavedProgram::Key::flags, "other compile options");
  expect_refused(&SavedProgram::Key::plugin, "another plugin");
  expect_refused(&SavedProgram::Key::chip, "another machine (got chip 4 x TPU v5, expected 4 x TPU v5x)");
}

TEST(SavedProgram, DamageIsFound) {
  const std::string path = sample_file();
  const std::string whole = read_file(path).value();
  for (size_t length = 0; length < whole.size(); ++length) {
    ASSERT_TRUE(write_file_atomic(path, whole.substr(0, length)).ok());
    const Result<SavedProgram> got = SavedProgram::read(path);
    ASSERT_FALSE(got.ok()) << length;
    EXPECT_EQ(got.error().code(), ErrorCode::damaged);
  }
  std::string changed = whole;
  changed.back() = 'y';
  ASSERT_TRUE(write_file_atomic(path, changed).ok());
  EXPECT_FALSE(SavedProgram::read(path).ok());
  EXPECT_EQ(SavedProgram::read(path + ".none").error().code(), ErrorCode::not_found);
}

}  // namespace
}  // namespace tenon
