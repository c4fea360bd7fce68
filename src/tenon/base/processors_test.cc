#include "tenon/base/processors.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace tenon {
namespace {

TEST(Processors, AreThoseOfTheThreadsAffinity) {
  const int64_t all = num_processors();
  EXPECT_GE(all, 1);
  int64_t of_one = 0;
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(sched_getcpu()), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    of_one = num_processors();
  }).join();
  EXPECT_EQ(of_one, 1);
  EXPECT_EQ(num_processors(), all);
}

}  // namespace
}  // namespace tenon
