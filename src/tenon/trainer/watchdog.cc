#include "tenon/trainer/watchdog.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>

#include "tenon/base/clock.h"
#include "tenon/base/error.h"
#include "tenon/base/span.h"
#include "tenon/base/text.h"
#include "tenon/base/thread_stacks.h"

namespace tenon {
namespace {

// The log is written past every buffer and lock: one of these may be what hangs.
void put(int fd, const std::string& text) {
  const ssize_t written = ::write(fd, text.data(), text.size());
  static_cast<void>(written);
}

void leave_at_once(int) { ::_exit(exit_status(ErrorCode::stalled)); }

// Ends the process even if this very thread gets stuck on the way.
[[noreturn]] void stop_process(int fd, const WatchedThing& thing, double seconds, double limit) {
  constexpr unsigned kSecondsForStacks = 20;
  ::signal(SIGALRM, leave_at_once);
  ::alarm(kSecondsForStacks);
  put(fd, fmt::format("watchdog: {} has taken {:.1f} s; the process ends here. Threads:\n", thing.what, seconds));
  write_thread_stacks(fd);
  const Error error =
      Error(ErrorCode::stalled, "the run stood still")
          .at(thing.what)
          .got(fmt::format("{:.1f} s", seconds))
          .expected(fmt::format("at most {} s (watchdog.stop_after_s)", limit))
          .hint("the stacks of all threads are in the log; run it again to go on from the last checkpoint");
  put(STDERR_FILENO, fmt::format("error: {}\n", error.what()));
  leave_at_once(0);
  ::_exit(exit_status(ErrorCode::stalled));
}

}  // namespace

void WatchdogConfig::check(Checker& c) const {
  const auto check_limit = [&](const char* field, double value) {
    c.require(value >= 0 && value <= 1e9, field,
              fmt::format("must be from 0 (never) to 1e9 seconds, is {}", format_float(value)));
  };
  check_limit("warn_after_s", warn_after_s);
  check_limit("stop_after_s", stop_after_s);
  c.require(stop_after_s == 0 || warn_after_s <= stop_after_s, "warn_after_s", "must not be above stop_after_s");
}

Watchdog::Watchdog(const WatchdogConfig& config, int fd) : config_(config), fd_(fd) {
  if (config_.warn_after_s <= 0 && config_.stop_after_s <= 0) return;
  prepare_thread_stacks();
  thread_ = std::thread([this] { run(); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Watchdog::run() {
  name_thread("watchdog");
  double shortest = 1;
  for (const double limit : {config_.warn_after_s, config_.stop_after_s}) {
    if (limit > 0) shortest = std::min(shortest, limit / 4);
  }
  std::unique_lock lock(mutex_);
  while (!stop_) {
    changed_.wait_for(lock, std::chrono::duration<double>(shortest));
    look(steady_seconds());
  }
}

// Under the mutex: who begins or ends something meanwhile waits, and isn't what hangs.
void Watchdog::look(double now) {
  for (WatchedThing& thing : things_) {
    const double seconds = now - thing.since;
    if (config_.stop_after_s > 0 && seconds >= config_.stop_after_s) {
      stop_process(fd_, thing, seconds, config_.stop_after_s);
    }
    if (config_.warn_after_s > 0 && seconds >= config_.warn_after_s && !thing.warned) {
      thing.warned = true;
      put(fd_, fmt::format("watchdog: warning: {} has taken {:.1f} s. Threads:\n", thing.what, seconds));
      write_thread_stacks(fd_);
    }
  }
}

Watchdog::Watch::Watch(Watchdog& dog, std::string what) : dog_(dog) {
  const std::lock_guard lock(dog_.mutex_);
  thing_ = dog_.things_.insert(dog_.things_.end(), {std::move(what), steady_seconds()});
}

Watchdog::Watch::~Watch() {
  const std::lock_guard lock(dog_.mutex_);
  dog_.things_.erase(thing_);
}

void Watchdog::Watch::renew() {
  const std::lock_guard lock(dog_.mutex_);
  thing_->since = steady_seconds();
  thing_->warned = false;
}

}  // namespace tenon
