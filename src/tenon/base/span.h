// Host spans: what this process does, when and on which thread. Nothing is kept until someone records.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

// Times on the clock of steady_seconds().
struct SpanEvent {
  std::string name;
  int64_t thread = 0;
  double begin_s = 0, end_s = 0;
};
struct SpanRecording {
  double begin_s = 0, end_s = 0;
  std::vector<SpanEvent> events;                // in the order of their ends
  std::map<int64_t, std::string> thread_names;  // of the threads that have a name and an event
};

// Keeps every span that begins and ends from here to stop_recording, on all threads. Throws `wrong_context` while
// another recording is going on.
void start_recording();
// What was kept; nothing when no recording was going on.
SpanRecording stop_recording();

// Names the calling thread in recordings. `name` must be a string literal.
void name_thread(const char* name);

// From here to the end of the scope. Costs one atomic load while nothing is recorded.
class [[nodiscard]] Span {
 public:
  explicit Span(std::string_view what) {
    if (recording() != 0) begin(what, {});
  }
  // "<what> <which>": `which` is a module path, a file or a step.
  Span(std::string_view what, std::string_view which) {
    if (recording() != 0) begin(what, which);
  }
  Span(std::string_view what, int64_t which) {
    if (recording() != 0) begin(what, std::to_string(which));
  }
  ~Span() {
    if (recording_ != 0) end();
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  friend void start_recording();
  friend SpanRecording stop_recording();
  // The number of the recording that is going on; 0: none.
  static std::atomic<uint64_t>& current();
  static uint64_t recording() { return current().load(std::memory_order_relaxed); }
  void begin(std::string_view what, std::string_view which);
  void end() noexcept;

  uint64_t recording_ = 0;
  double begin_s_ = 0;
  std::string name_;
};

}  // namespace tenon
