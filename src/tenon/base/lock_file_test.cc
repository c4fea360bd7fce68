#include "tenon/base/lock_file.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <thread>

#include "tenon/base/file.h"

namespace tenon {
namespace {

using testing::HasSubstr;

class LockFileTest : public testing::Test {
 protected:
  LockFileTest() : path_(testing::TempDir() + "tenon_lock_" + random_suffix()) {}
  ~LockFileTest() override { remove_tree(path_).value(); }
  std::string path_;
};

TEST_F(LockFileTest, NamesWhoHoldsIt) {
  EXPECT_FALSE(LockFile::is_held(path_));
  {
    const LockFile held = LockFile::acquire(path_).value();
    EXPECT_TRUE(LockFile::is_held(path_));
    const Result<LockFile> second = LockFile::acquire(path_);
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code(), ErrorCode::io);
    EXPECT_THAT(second.error().what(), HasSubstr("process " + std::to_string(::getpid()) + " on "));
  }
  EXPECT_FALSE(LockFile::is_held(path_));
}

// A stale file, whatever is in it, is nobody's.
TEST_F(LockFileTest, AKilledHolderLeavesItFree) {
  write_file_atomic(path_, "1 elsewhere").value();
  const pid_t child = ::fork();
  if (child == 0) {
    const Result<LockFile> held = LockFile::acquire(path_);
    ::kill(::getpid(), held.ok() ? SIGKILL : SIGTERM);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_TRUE(LockFile::acquire(path_).ok());
}

// Whoever waits for a file that its holder removes gets one of that name, and so does nobody else.
TEST_F(LockFileTest, AHolderMayRemoveIt) {
  std::optional<LockFile> first = LockFile::acquire(path_).value();
  std::thread remover([&] {
    ::usleep(30'000);
    remove_tree(path_).value();
    first.reset();
  });
  const Result<LockFile> second = LockFile::acquire(path_);
  remover.join();
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(LockFile::is_held(path_));
  EXPECT_FALSE(LockFile::acquire(path_).ok());
}

}  // namespace
}  // namespace tenon
