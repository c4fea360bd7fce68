#include "tenon/trainer/stop_signal.h"

#include <atomic>

namespace tenon {
namespace {

std::atomic<bool> stop_requested{false};
std::atomic<int> stop_number{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void note(int number) {
  stop_number.store(number);
  stop_requested.store(true);
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace

StopSignal::StopSignal() {
  stop_requested.store(false);
  struct sigaction action{};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &action, &before_[i]);
    // nohup means it.
    if (kSignals[i] == SIGHUP && before_[i].sa_handler == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
  }
}

StopSignal::~StopSignal() {
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

bool StopSignal::requested() const { return stop_requested.load(); }

const char* StopSignal::name() const {
  switch (stop_number.load()) {
    case SIGTERM:
      return "SIGTERM";
    case SIGHUP:
      return "SIGHUP";
    case SIGPIPE:
      return "SIGPIPE";
    default:
      return "SIGINT";
  }
}

}  // namespace tenon
