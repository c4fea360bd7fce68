#include "tenon/base/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>

#include "tenon/base/fault.h"
#include "tenon/base/lock_file.h"
#include "tenon/base/mapped_file.h"

namespace tenon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class FileTest : public testing::Test {
 protected:
  FileTest() : dir_(testing::TempDir() + "tenon_file_" + random_suffix()) { make_dirs(dir_).value(); }
  ~FileTest() override {
    set_fault_handler({});
    remove_tree(dir_).value();
  }
  std::string path(const std::string& name) const { return join_path(dir_, name); }
  std::string dir_;
};

TEST_F(FileTest, APipeIsNotReplaced) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const Status status = write_file_atomic(path("pipe"), "hello");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), ErrorCode::io);
  EXPECT_TRUE(std::filesystem::is_fifo(path("pipe")));
  EXPECT_THAT(list_dir(dir_).value(), ElementsAre("pipe"));
}

TEST_F(FileTest, WritesAndReads) {
  ASSERT_TRUE(write_file_atomic(path("a"), "hello").ok());
  ASSERT_TRUE(write_file_atomic(path("a"), "world!").ok());
  EXPECT_EQ(read_file(path("a")).value(), "world!");
  EXPECT_EQ(file_size(path("a")).value(), 6u);
  EXPECT_THAT(list_dir(dir_).value(), ElementsAre("a"));
  std::string part(3, ' ');
  ASSERT_TRUE(read_range(path("a"), 2, std::as_writable_bytes(std::span(part))).ok());
  EXPECT_EQ(part, "rld");
  EXPECT_TRUE(exists(path("a")));
  EXPECT_FALSE(exists(path("b")));
  EXPECT_GT(free_space(dir_).value(), 0u);
}

TEST_F(FileTest, AppendGoesOnBehind) {
  OutputFile::append(path("log")).value().write("one ").value();
  OutputFile::append(path("log")).value().write("two").value();
  EXPECT_EQ(read_file(path("log")).value(), "one two");
  EXPECT_EQ(OutputFile::create(path("log")).error().code(), ErrorCode::io);
}

TEST_F(FileTest, ErrorsNameThePathAndTheReason) {
  const auto missing = read_file(path("nothing"));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code(), ErrorCode::not_found);
  EXPECT_THAT(missing.error().what(), HasSubstr(path("nothing")));
  EXPECT_THAT(missing.error().what(), HasSubstr("No such file"));
  EXPECT_EQ(read_file(dir_).error().code(), ErrorCode::io);
  EXPECT_EQ(list_dir(path("nothing")).error().code(), ErrorCode::not_found);
  EXPECT_EQ(free_space(path("nothing")).error().code(), ErrorCode::not_found);
  EXPECT_EQ(write_file_atomic(path("no/file"), "x").error().code(), ErrorCode::not_found);
  EXPECT_EQ(read_file(std::string("a\0b", 3)).error().code(), ErrorCode::invalid_argument);
  write_file_atomic(path("f"), "12345").value();
  EXPECT_EQ(make_dirs(path("f/g")).error().code(), ErrorCode::io);
  EXPECT_EQ(make_dirs(path("f")).error().code(), ErrorCode::io);
  EXPECT_EQ(read_file(path("f"), 4).error().code(), ErrorCode::damaged);
  std::string out(3, ' ');
  EXPECT_EQ(read_range(path("f"), 3, std::as_writable_bytes(std::span(out))).error().code(), ErrorCode::damaged);
  EXPECT_EQ(read_range(path("f"), ~uint64_t{0}, std::as_writable_bytes(std::span(out))).error().code(),
            ErrorCode::damaged);
}

TEST_F(FileTest, FifoIsRefused) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(read_file(path("fifo")).error().code(), ErrorCode::io);
}

TEST_F(FileTest, Directories) {
  ASSERT_TRUE(make_dirs(path("x/y/z/")).ok());
  ASSERT_TRUE(make_dirs(path("x/y/z")).ok());
  EXPECT_FALSE(make_new_dir(path("x")).ok());
  write_file_atomic(path("x/y/f"), "1").value();
  write_file_atomic(path("outside"), "1").value();
  std::filesystem::create_symlink(path("outside"), path("x/link"));
  ASSERT_TRUE(rename_dir(path("x"), path("w")).ok());
  EXPECT_TRUE(exists(path("w/y/f")));
  make_dirs(path("v")).value();
  EXPECT_FALSE(rename_dir(path("v"), path("w")).ok());
  ASSERT_TRUE(remove_tree(path("w")).ok());
  ASSERT_TRUE(remove_tree(path("w")).ok());
  EXPECT_TRUE(exists(path("outside")));
  EXPECT_EQ(parent_dir("a/b"), "a");
  EXPECT_EQ(parent_dir("a"), ".");
  EXPECT_EQ(parent_dir("/a"), "/");
}

TEST_F(FileTest, ExchangedDirectories) {
  for (const int refused : {0, EINVAL}) {
    make_dirs(path("a/in_a")).value();
    make_dirs(path("b/in_b")).value();
    int calls = 0;
    // The file system may lack the exchange: then plain renames do it.
    set_fault_handler([&](std::string_view at) { return at == "file.rename" && calls++ == 0 ? refused : 0; });
    ASSERT_TRUE(exchange_dirs(path("a"), path("b")).ok());
    set_fault_handler({});
    EXPECT_THAT(list_dir(path("a")).value(), ElementsAre("in_b"));
    EXPECT_THAT(list_dir(path("b")).value(), ElementsAre("in_a"));
    EXPECT_THAT(list_dir(dir_).value(), ElementsAre("a", "b"));
    EXPECT_EQ(calls, refused == 0 ? 1 : 4);
    remove_tree(path("a")).value();
    remove_tree(path("b")).value();
  }
  EXPECT_EQ(exchange_dirs(path("a"), path("b")).error().code(), ErrorCode::not_found);
}

TEST_F(FileTest, AFullDiskLeavesTheOldFileAndNoRubbish) {
  write_file_atomic(path("a"), "old").value();
  for (const char* point : {"file.open", "file.write", "file.fsync", "file.rename"}) {
    set_fault_handler([&](std::string_view at) { return at == point ? ENOSPC : 0; });
    const Status failed = write_file_atomic(path("a"), "new");
    set_fault_handler({});
    ASSERT_FALSE(failed.ok()) << point;
    EXPECT_EQ(failed.error().code(), ErrorCode::no_space);
    EXPECT_EQ(read_file(path("a")).value(), "old");
    EXPECT_THAT(list_dir(dir_).value(), ElementsAre("a"));
  }
}

TEST_F(FileTest, InterruptedCallsAreContinued) {
  int interruptions = 0;
  set_fault_handler([&](std::string_view) { return interruptions++ % 2 == 0 ? EINTR : 0; });
  ASSERT_TRUE(write_file_atomic(path("a"), "content").ok());
  EXPECT_EQ(read_file(path("a")).value(), "content");
  EXPECT_GE(interruptions, 12);
}

TEST_F(FileTest, AFileSizeLimitIsAnError) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    // The first write is short, the second fails.
    const Status status = write_file_atomic(path("a"), std::string(3000, 'x'));
    ::_exit(!status.ok() && status.error().code() == ErrorCode::io ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(list_dir(dir_).value().empty());
}

TEST_F(FileTest, HandlersMayThrow) {
  set_fault_handler([](std::string_view) -> int { throw Error(ErrorCode::interrupted, "stop"); });
  EXPECT_THROW((void)write_file_atomic(path("a"), "x"), Error);
  set_fault_handler({});
  EXPECT_FALSE(exists(path("a")));
}

TEST_F(FileTest, Mapped) {
  write_file_atomic(path("a"), "bytes").value();
  write_file_atomic(path("empty"), "").value();
  MappedFile file = MappedFile::open(path("a")).value();
  MappedFile moved = std::move(file);
  EXPECT_EQ(moved.bytes().size(), 5u);
  EXPECT_EQ(moved.bytes()[1], std::byte{'y'});
  EXPECT_TRUE(MappedFile::open(path("empty")).value().bytes().empty());
  EXPECT_EQ(MappedFile::open(path("none")).error().code(), ErrorCode::not_found);
  EXPECT_FALSE(MappedFile::open(dir_).ok());
}

TEST_F(FileTest, OneHolderOfALock) {
  {
    const LockFile lock = LockFile::acquire(path("LOCK")).value();
    const Result<LockFile> second = LockFile::acquire(path("LOCK"));
    ASSERT_FALSE(second.ok());
    EXPECT_THAT(second.error().what(), HasSubstr(std::to_string(::getpid())));
    const pid_t child = ::fork();
    if (child == 0) ::_exit(LockFile::acquire(path("LOCK")).ok() ? 1 : 0);
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_TRUE(LockFile::acquire(path("LOCK")).ok());
}

TEST_F(FileTest, PlainNames) {
  for (const char* name : {"config.toml", "a", "a b", "ü"}) EXPECT_TRUE(is_plain_file_name(name)) << name;
  for (const char* name : {"", ".", "..", ".a", "a/b", "/a", "a\\b", "a\nb"}) EXPECT_FALSE(is_plain_file_name(name));
  EXPECT_FALSE(is_plain_file_name(std::string("a\0b", 3)));
  EXPECT_FALSE(is_plain_file_name(std::string(256, 'a')));
}

}  // namespace
}  // namespace tenon
