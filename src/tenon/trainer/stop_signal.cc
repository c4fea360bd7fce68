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
  sigaction(SIGINT, &action, &before_int_);
  sigaction(SIGTERM, &action, &before_term_);
}

StopSignal::~StopSignal() {
  sigaction(SIGINT, &before_int_, nullptr);
  sigaction(SIGTERM, &before_term_, nullptr);
}

bool StopSignal::requested() const { return stop_requested.load(); }
const char* StopSignal::name() const { return stop_number.load() == SIGTERM ? "SIGTERM" : "SIGINT"; }

}  // namespace tenon
