#include "tenon/base/span.h"

#include <gmock/gmock.h>

#include <memory>
#include <thread>

#include "tenon/base/clock.h"
#include "tenon/base/error.h"

namespace tenon {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> names(const SpanRecording& recording) {
  std::vector<std::string> out;
  for (const SpanEvent& e : recording.events) out.push_back(e.name);
  return out;
}

TEST(Span, IsKeptOnlyWhileRecording) {
  {
    const Span before("before");
  }
  start_recording();
  {
    const Span outer("step", 12);
    const Span inner("write", "decoder.layers.0.w");
  }
  const SpanRecording got = stop_recording();
  {
    const Span after("after");
  }
  EXPECT_THAT(names(got), ElementsAre("write decoder.layers.0.w", "step 12"));
  EXPECT_THAT(stop_recording().events, IsEmpty());
}

TEST(Span, TimesLieInsideTheRecordingAndOneAnother) {
  const double before = steady_seconds();
  start_recording();
  {
    const Span outer("outer");
    const Span inner("inner");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const SpanRecording got = stop_recording();
  const SpanEvent &inner = got.events.at(0), &outer = got.events.at(1);
  EXPECT_LE(before, got.begin_s);
  EXPECT_LE(got.begin_s, outer.begin_s);
  EXPECT_LE(outer.begin_s, inner.begin_s);
  EXPECT_GE(inner.end_s - inner.begin_s, 0.005);
  EXPECT_LE(inner.end_s, outer.end_s);
  EXPECT_LE(outer.end_s, got.end_s);
}

TEST(Span, OneThatRunsOverTheEdgeIsLeftOut) {
  start_recording();
  auto cut = std::make_unique<Span>("cut");
  stop_recording();
  start_recording();
  cut.reset();
  EXPECT_THAT(stop_recording().events, IsEmpty());
}

TEST(Span, ThreadsHaveNumbersAndNames) {
  start_recording();
  {
    const Span here("here");
  }
  std::thread([] {
    name_thread("helper");
    const Span there("there");
  }).join();
  const SpanRecording got = stop_recording();
  ASSERT_THAT(names(got), ElementsAre("here", "there"));
  EXPECT_NE(got.events[0].thread, got.events[1].thread);
  EXPECT_EQ(got.thread_names.at(got.events[1].thread), "helper");
}

TEST(Span, TwoRecordingsAtOnceAreRefused) {
  start_recording();
  EXPECT_THROW(start_recording(), Error);
  stop_recording();
}

// For the thread sanitizer too: spans of many threads while recordings start and stop.
TEST(Span, ManyThreads) {
  std::vector<std::thread> threads;
  std::atomic<bool> go = true;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&go] {
      name_thread("worker");
      while (go) const Span span("work", "of a thread");
    });
  }
  size_t seen = 0;
  for (int i = 0; i < 50 || seen == 0; ++i) {
    start_recording();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    for (const SpanEvent& e : stop_recording().events) {
      ++seen;
      ASSERT_EQ(e.name, "work of a thread");
      ASSERT_LE(e.begin_s, e.end_s);
    }
  }
  go = false;
  for (std::thread& t : threads) t.join();
  EXPECT_GT(seen, 0U);
}

}  // namespace
}  // namespace tenon
