#include "tenon/base/thread_stacks.h"

#include <gmock/gmock.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <string>
#include <thread>

namespace tenon {
namespace {

using testing::HasSubstr;

std::string stacks() {
  std::array<int, 2> ends;
  EXPECT_EQ(::pipe(ends.data()), 0);
  std::string text;
  std::thread reader([&] {
    std::array<char, 4096> buffer;
    for (ssize_t n; (n = ::read(ends[0], buffer.data(), buffer.size())) > 0;)
      text.append(buffer.data(), static_cast<size_t>(n));
  });
  prepare_thread_stacks();
  write_thread_stacks(ends[1]);
  ::close(ends[1]);
  reader.join();
  ::close(ends[0]);
  return text;
}

TEST(ThreadStacks, NameEveryThreadAndGoOn) {
  std::atomic<bool> stop{false};
  std::atomic<int> rounds{0};
  const auto named = [&](const char* name, bool deaf) {
    return std::thread([&, name, deaf] {
      ::pthread_setname_np(::pthread_self(), name);
      if (deaf) {
        sigset_t all;
        sigfillset(&all);
        ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
      }
      ++rounds;
      while (!stop) ::usleep(1000);
    });
  };
  std::thread sleeper = named("a sleeper", false), deaf = named("a deaf one", true);
  while (rounds < 2) ::usleep(1000);
  const std::string text = stacks();
  EXPECT_THAT(text, HasSubstr("\"a sleeper\", state "));
  const size_t at = text.find("\"a deaf one\"");
  ASSERT_NE(at, std::string::npos);
  EXPECT_THAT(text.substr(at, 80), HasSubstr("it doesn't answer"));
  EXPECT_THAT(text, HasSubstr("["));  // addresses
  EXPECT_THAT(text, testing::AnyOf(HasSubstr("nanosleep"), HasSubstr("usleep")));
  stop = true;
  sleeper.join();
  deaf.join();
}

}  // namespace
}  // namespace tenon
