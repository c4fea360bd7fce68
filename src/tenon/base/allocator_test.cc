#include "tenon/base/allocator.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace tenon {
namespace {

long page_faults_of_reuse() {
  constexpr size_t kBytes = size_t{64} << 20;
  const auto use = [] {
    auto* p = static_cast<volatile char*>(std::malloc(kBytes));
    for (size_t i = 0; i < kBytes; i += 4096) p[i] = 1;
    std::free(const_cast<char*>(p));
  };
  use();
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  for (int i = 0; i < 4; ++i) use();
  getrusage(RUSAGE_SELF, &after);
  return after.ru_minflt - before.ru_minflt;
}

// In a child, since the settings last as long as the process.
TEST(Allocator, FreedMemoryIsUsedAgainWithoutPageFaults) {
#ifdef TENON_SANITIZED
  GTEST_SKIP() << "sanitizers bring their own allocator";
#endif
  const pid_t child = fork();
  if (child == 0) {
    const long without = page_faults_of_reuse();
    configure_allocator();
    const long with = page_faults_of_reuse();
    _exit(without > 10000 && with < 100 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace tenon
