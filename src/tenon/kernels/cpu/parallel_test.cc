#include "tenon/kernels/cpu/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tenon {
namespace {

// Threads that take what is scheduled; joined at the end.
class Threads {
 public:
  ~Threads() {
    for (std::thread& t : threads_) t.join();
  }
  Workers workers(int64_t count) {
    return {count, [this](std::function<void()> f) { threads_.emplace_back(std::move(f)); }};
  }

 private:
  std::vector<std::thread> threads_;
};

TEST(ParallelFor, DoesEveryTaskOnce) {
  for (const int64_t count : {0, 1, 2, 7, 1000}) {
    Threads threads;
    std::vector<std::atomic<int>> done(static_cast<size_t>(count));
    parallel_for(threads.workers(4), count, [&](int64_t i) { ++done[static_cast<size_t>(i)]; });
    for (const std::atomic<int>& times : done) EXPECT_EQ(times, 1);
  }
}

TEST(ParallelFor, DoesNotWaitForThreadsThatNeverCome) {
  int done = 0;
  std::vector<std::function<void()>> late;
  const Workers busy{3, [&](std::function<void()> f) { late.push_back(std::move(f)); }};
  parallel_for(busy, 10, [&](int64_t) { ++done; });
  EXPECT_EQ(done, 10);
  for (const std::function<void()>& f : late) f();  // those that come after the end find nothing to do
  EXPECT_EQ(done, 10);
  EXPECT_EQ(late.size(), 2U);
}

TEST(ParallelFor, WorksInsideATask) {
  Threads threads;
  std::atomic<int> done = 0;
  const Workers workers{1, {}};
  parallel_for(threads.workers(3), 5, [&](int64_t) { parallel_for(workers, 5, [&](int64_t) { ++done; }); });
  EXPECT_EQ(done, 25);
}

}  // namespace
}  // namespace tenon
