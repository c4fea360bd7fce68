#include "tenon/checkpoint/checkpoint_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <future>
#include <optional>
#include <set>
#include <thread>

#include "tenon/checkpoint/async_saver.h"
#include "tenon/checkpoint/checkpoint_test_util.h"

namespace tenon {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class CheckpointWriterTest : public CheckpointDirTest {
 protected:
  // Saves step 3 in a process of its own that dies when the handler says so; whether it died.
  bool dies_saving(const FaultHandler& handler) const {
    const pid_t child = ::fork();
    if (child == 0) {
      CheckpointWriter writer = CheckpointWriter::open(dir_, options(2)).value();
      set_fault_handler(handler);
      ::_exit(writer.save(example_request(3)).ok() ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 42)) << status;
    return WEXITSTATUS(status) == 42;
  }
  // The step that loads, which must be 2 or 3 and whole; then a new writer must clean up and go on.
  int64_t check_recovery() const {
    const OpenedCheckpoint found = open_latest(dir_).value();
    EXPECT_TRUE(found.warnings().empty());
    EXPECT_TRUE(found.step() == 2 || found.step() == 3);
    expect_is_example(found, found.step());
    save({4}, 2);
    for (const std::string& name : list_dir(dir_).value()) EXPECT_THAT(name, Not(HasSubstr(".tmp-")));
    expect_is_example(open_latest(dir_).value(), 4);
    return found.step();
  }
  void start_again() const {
    remove_tree(dir_).value();
    save({1, 2}, 2);
  }
};

TEST_F(CheckpointWriterTest, ACrashAtEachPointLeavesTheOldOrTheNew) {
  bool committed = false;
  for (const std::string_view point : kSaveFaultPoints) {
    start_again();
    EXPECT_TRUE(dies_saving([&](std::string_view at) {
      if (at == point) ::_exit(42);
      return 0;
    })) << point
        << " was never reached";
    committed = committed || point == "checkpoint.after_commit";
    EXPECT_EQ(check_recovery(), committed ? 3 : 2) << point;
  }
}

TEST_F(CheckpointWriterTest, ACrashAtEachStepOfTheFileLayer) {
  int crashes = 0;
  for (bool died = true; died; ++crashes) {
    start_again();
    int calls = 0;
    died = dies_saving([&](std::string_view) {
      if (calls++ == crashes) ::_exit(42);
      return 0;
    });
    check_recovery();
  }
  EXPECT_GT(crashes, 30);
}

TEST_F(CheckpointWriterTest, AFailureOfEachFileOperation) {
  for (const int error_number : {ENOSPC, EIO}) {
    bool reached = true;
    int failures = 0;
    for (int k = 0; reached; ++k) {
      start_again();
      CheckpointWriter writer = CheckpointWriter::open(dir_, options(2)).value();
      int calls = 0;
      reached = false;
      set_fault_handler([&](std::string_view at) {
        if (!at.starts_with("file.") || calls++ != k) return 0;
        reached = true;
        return error_number;
      });
      const Result<SaveReport> saved = writer.save(example_request(3));
      set_fault_handler({});
      const OpenedCheckpoint found = open_latest(dir_).value();
      EXPECT_TRUE(found.warnings().empty());
      expect_is_example(found, found.step());
      if (saved.ok()) {
        EXPECT_EQ(found.step(), 3);
        continue;
      }
      ++failures;
      EXPECT_EQ(saved.error().code(), error_number == ENOSPC ? ErrorCode::no_space : ErrorCode::io);
      EXPECT_THAT(list_dir(dir_).value(), Contains("step_00000002"));
      EXPECT_THAT(list_dir(dir_).value(), Not(Contains(HasSubstr(".tmp-"))));
      EXPECT_TRUE(writer.save(example_request(4)).ok());
    }
    EXPECT_GT(failures, 15);
  }
}

// Every call of the file layer is interrupted once and done again.
TEST_F(CheckpointWriterTest, InterruptedCallsAreContinued) {
  CheckpointWriter writer = CheckpointWriter::open(dir_, options(2)).value();
  int interruptions = 0;
  bool again = false;
  set_fault_handler([&](std::string_view at) {
    if (!at.starts_with("file.") || at == "file.remove") return 0;
    again = !again;
    interruptions += again ? 1 : 0;
    return again ? EINTR : 0;
  });
  for (const int64_t step : {1, 2, 3}) writer.save(example_request(step)).value();
  set_fault_handler({});
  EXPECT_GT(interruptions, 50);
  expect_is_example(open_latest(dir_).value(), 3);
  EXPECT_THAT(list_dir(dir_).value(), ElementsAre("LOCK", "step_00000002", "step_00000003"));
}

TEST_F(CheckpointWriterTest, KeepsTheLast) {
  save({1, 2, 3, 4, 5}, 2);
  EXPECT_THAT(list_dir(dir_).value(), ElementsAre("LOCK", "step_00000004", "step_00000005"));
}

TEST_F(CheckpointWriterTest, RemovesOnlyWhatIsProvedToBeOld) {
  save({1, 2, 9}, 9);
  write_file_atomic(path("step_00000002/MANIFEST.json"), "").value();
  const std::vector<std::string> foreign = {"step_00000001.tmp-backup", "step_1.tmp-0123456789abcdef", "notes",
                                            "step_00000001.tmp-0123456789ABCDEF",
                                            "old_step_00000001.tmp-0123456789abcdef"};
  for (const std::string& name : foreign) make_dirs(path(name)).value();
  make_dirs(path("step_00000001.tmp-0123456789abcdef/x")).value();
  save({3}, 1);
  std::set<std::string> expected(foreign.begin(), foreign.end());
  // 1 was good and old; 2 can't be read; 9 is later than what was saved.
  for (const char* name : {"LOCK", "step_00000002", "step_00000003", "step_00000009"}) expected.insert(name);
  EXPECT_THAT(list_dir(dir_).value(), testing::ElementsAreArray(expected));
}

TEST_F(CheckpointWriterTest, DamagedOnesDontCountAsKept) {
  save({1, 2}, 2);
  write_file_atomic(path("step_00000002/config.toml"), "").value();
  save({3}, 2);
  EXPECT_THAT(list_dir(dir_).value(), ElementsAre("LOCK", "step_00000001", "step_00000002", "step_00000003"));
}

TEST_F(CheckpointWriterTest, ReplacesTheSameStep) {
  save({1, 2});
  write_file_atomic(path("step_00000002/config.toml"), "damage").value();
  save({2});
  const OpenedCheckpoint found = open_latest(dir_).value();
  expect_is_example(found, 2);
  EXPECT_THAT(list_dir(dir_).value(), ElementsAre("LOCK", "step_00000001", "step_00000002"));
}

TEST_F(CheckpointWriterTest, OneWriter) {
  const CheckpointWriter writer = CheckpointWriter::open(dir_).value();
  const Result<CheckpointWriter> second = CheckpointWriter::open(dir_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code(), ErrorCode::io);
  EXPECT_THAT(second.error().what(), HasSubstr("is using this directory"));
}

TEST_F(CheckpointWriterTest, RefusesWrongRequests) {
  EXPECT_THROW((void)CheckpointWriter::open(dir_, {.keep = {.last_n = 0}}), Error);
  CheckpointWriter writer = CheckpointWriter::open(dir_, options()).value();
  std::vector<SaveRequest> wrong(6, example_request(1));
  wrong[0].step = -1;
  wrong[1].files["../config.toml"] = "x";
  wrong[2].files["MANIFEST.json"] = "x";
  wrong[3].files["shard_00000.safetensors"] = "x";
  wrong[4].tensors.push_back(wrong[4].tensors[0]);
  wrong[5].metadata["a"] = "\xff";
  for (const SaveRequest& request : wrong) EXPECT_THROW((void)writer.save(request), Error);
  EXPECT_THAT(list_dir(dir_).value(), ElementsAre("LOCK"));
}

TEST_F(CheckpointWriterTest, ShardsAreOfAboutEqualSize) {
  SaveRequest request;
  for (int i = 0; i < 10; ++i) {
    request.tensors.emplace_back("t" + std::to_string(i), Literal(TensorType{DType::u8, {100 * (i + 1)}}));
  }
  CheckpointWriter writer = CheckpointWriter::open(dir_, {.max_shard_bytes = 2000}).value();
  const SaveReport report = writer.save(request).value();
  std::vector<uint64_t> sizes;
  uint64_t total = 0;
  for (const std::string& name : list_dir(report.path).value()) {
    if (name == "MANIFEST.json") continue;
    sizes.push_back(file_size(join_path(report.path, name)).value());
    total += sizes.back();
  }
  ASSERT_EQ(sizes.size(), 3u);
  EXPECT_LT(*std::max_element(sizes.begin(), sizes.end()) - *std::min_element(sizes.begin(), sizes.end()), 300u);
  EXPECT_EQ(report.bytes, total);
}

TEST_F(CheckpointWriterTest, AnUnwritableDirectory) {
  make_dirs(dir_).value();
  write_file_atomic(path("file"), "").value();
  EXPECT_EQ(CheckpointWriter::open(path("file/run")).error().code(), ErrorCode::io);
}

TEST_F(CheckpointWriterTest, AsyncSavesInOrder) {
  AsyncSaver saver(dir_, options());
  for (const int64_t step : {1, 2, 3}) saver.save(example_request(step));
  saver.wait();
  ASSERT_TRUE(saver.last().has_value());
  EXPECT_EQ(saver.last()->path, path("step_00000003"));
  expect_is_example(open_latest(dir_).value(), 3);
  EXPECT_THROW(AsyncSaver(dir_, options()), Error);
}

TEST_F(CheckpointWriterTest, AsyncErrorsComeWithTheNextCall) {
  AsyncSaver saver(dir_, options());
  saver.save(example_request(1));
  saver.wait();
  set_fault_handler([](std::string_view at) { return at == "file.write" ? ENOSPC : 0; });
  saver.save(example_request(2));
  try {
    saver.save(example_request(3));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::no_space);
  }
  set_fault_handler({});
  EXPECT_EQ(saver.last()->path, path("step_00000001"));
  saver.save(example_request(4));
  saver.wait();
  expect_is_example(open_latest(dir_).value(), 4);
  EXPECT_THAT(list_dir(dir_).value(), ElementsAre("LOCK", "step_00000001", "step_00000004"));
}

TEST_F(CheckpointWriterTest, AsyncErrorsAreSeenWithoutWaiting) {
  AsyncSaver saver(dir_, options());
  saver.check();
  std::promise<void> let_go;
  set_fault_handler([&, held = let_go.get_future().share()](std::string_view at) -> int {
    if (at == "checkpoint.begin") held.wait();
    return at == "file.write" ? ENOSPC : 0;
  });
  saver.save(example_request(1));
  saver.check();  // under way
  let_go.set_value();
  std::optional<Error> error;
  while (!error) {
    try {
      saver.check();
      std::this_thread::yield();
    } catch (const Error& e) {
      error = e;
    }
  }
  EXPECT_EQ(error->code(), ErrorCode::no_space);
  EXPECT_THAT(error->path(), HasSubstr("step_00000001"));
  saver.check();  // thrown once
  set_fault_handler({});
  saver.save(example_request(2));
  saver.wait();
  saver.check();
  EXPECT_EQ(saver.last()->path, path("step_00000002"));
}

TEST_F(CheckpointWriterTest, AsyncSaverMayBeDroppedWhileSaving) {
  {
    AsyncSaver saver(dir_, options());
    saver.save(example_request(1));
  }
  expect_is_example(open_latest(dir_).value(), 1);
}

}  // namespace
}  // namespace tenon
