#include "tenon/trainer/watchdog.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "tenon/base/error.h"
#include "tenon/base/fault.h"
#include "tenon/trainer/test_run.h"

namespace tenon {
namespace {

using testing::HasSubstr;
using testing::Not;

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

TEST(Watchdog, EndsAProcessThatStandsStill) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto stand_still = [] {
    Watchdog dog({.warn_after_s = 0, .stop_after_s = 0.1}, STDERR_FILENO);
    const Watchdog::Watch watch(dog, "step 7");
    sleep_ms(30'000);
  };
  EXPECT_EXIT(stand_still(), testing::ExitedWithCode(8),
              "step 7 has taken(.|\n)*thread (.|\n)*error: stalled at step 7");
  EXPECT_EQ(exit_status(ErrorCode::stalled), 8);
}

TEST(Watchdog, WarnsOnceAndOnlyOfWhatIsSlow) {
  testing::internal::CaptureStderr();
  {
    Watchdog dog({.warn_after_s = 0.15}, STDERR_FILENO);
    {
      Watchdog::Watch watch(dog, "in small steps");
      for (int i = 0; i < 8; ++i) {
        sleep_ms(40);
        watch.renew();
      }
    }
    const Watchdog::Watch watch(dog, "slow");
    sleep_ms(600);
  }
  const std::string text = testing::internal::GetCapturedStderr();
  const size_t at = text.find("watchdog: warning: slow has taken");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_EQ(text.find("watchdog: warning", at + 1), std::string::npos);
  EXPECT_THAT(text, Not(HasSubstr("in small steps")));
  EXPECT_THAT(text, HasSubstr("thread "));
}

TEST(Watchdog, ChecksItsLimits) {
  const auto wrong = [](const WatchdogConfig& config) {
    Checker checker;
    config.check(checker);
    return !checker.problems().empty();
  };
  EXPECT_FALSE(wrong({}));
  EXPECT_FALSE(wrong({.warn_after_s = 5, .stop_after_s = 5}));
  EXPECT_TRUE(wrong({.warn_after_s = 6, .stop_after_s = 5}));
  EXPECT_TRUE(wrong({.warn_after_s = -1}));
}

// In a run: what is slow is named, in every phase that a fault can hold up.
TEST_F(RunTest, TheWatchdogSeesSavesAndRestores) {
  Trainer::Config c = config(5);
  c.watchdog.warn_after_s = 0.3;
  const auto slow = [&](std::string_view where, const std::string& phase, int64_t steps) {
    int times = 0;
    set_fault_handler([&](std::string_view at) {
      if (at == where && ++times == 1) sleep_ms(900);
      return 0;
    });
    testing::internal::CaptureStderr();
    c.max_steps = steps;
    run("run", c);
    set_fault_handler({});
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("watchdog: warning: " + phase)) << where;
  };
  run("run", c);  // compiles
  slow("checkpoint.begin", "the save of step 10", 10);
  c.init_from.checkpoint = path("run");
  slow("checkpoint.after_shard_fsync", "the save of step 15", 15);
}

}  // namespace
}  // namespace tenon
