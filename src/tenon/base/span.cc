#include "tenon/base/span.h"

#include <mutex>
#include <utility>

#include "tenon/base/clock.h"
#include "tenon/base/error.h"

namespace tenon {
namespace {

struct Store {
  std::mutex mutex;
  uint64_t recordings = 0;
  SpanRecording kept;
};

// Never destroyed: threads may outlive static objects.
Store& store() {
  static auto* instance = new Store;
  return *instance;
}

thread_local const char* thread_name = nullptr;

int64_t thread_number() {
  static std::atomic<int64_t> next = 1;
  thread_local const int64_t mine = next++;
  return mine;
}

}  // namespace

std::atomic<uint64_t>& Span::current() {
  static std::atomic<uint64_t> number = 0;
  return number;
}

void start_recording() {
  Store& s = store();
  const std::scoped_lock lock(s.mutex);
  if (Span::recording() != 0) throw Error(ErrorCode::wrong_context, "spans are being recorded already");
  s.kept = {};
  s.kept.begin_s = steady_seconds();
  Span::current() = ++s.recordings;
}

SpanRecording stop_recording() {
  Store& s = store();
  const std::scoped_lock lock(s.mutex);
  if (Span::current().exchange(0) == 0) return {};
  s.kept.end_s = steady_seconds();
  return std::exchange(s.kept, {});
}

void name_thread(const char* name) { thread_name = name; }

void Span::begin(std::string_view what, std::string_view which) {
  recording_ = recording();
  name_ = what;
  if (!which.empty()) name_.append(" ").append(which);
  begin_s_ = steady_seconds();
}

// What there is no memory for is left out.
void Span::end() noexcept {
  const double now = steady_seconds();
  try {
    Store& s = store();
    const std::scoped_lock lock(s.mutex);
    if (recording() != recording_) return;
    const int64_t thread = thread_number();
    s.kept.events.push_back({std::move(name_), thread, begin_s_, now});
    if (thread_name != nullptr) s.kept.thread_names[thread] = thread_name;
  } catch (const std::exception&) {
    return;
  }
}

}  // namespace tenon
