// What happens on the host, and on the device where its plugin tells, during a few steps of a run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/result.h"
#include "tenon/base/span.h"

namespace tenon {

class Backend;
namespace pjrt {
class DeviceProfiler;
}

// Steps as the log counts them, from 1; both belong to it.
struct StepRange {
  int64_t first = 0, last = 0;
  bool operator==(const StepRange&) const = default;
};
// "10:13". Errors: `invalid_argument`.
Result<StepRange> parse_step_range(std::string_view text);
std::string to_string(const StepRange& range);

// As JSON that Perfetto and chrome://tracing load: complete events in microseconds from the start of the recording, one
// row a thread.
std::string to_chrome_trace(const SpanRecording& recording);

// Records the spans of some steps of a run in `dir`. The caller says where steps begin and end.
class StepProfile {
 public:
  // Nothing is recorded without a range. Throws `invalid_argument` when the steps aren't all among those the run is
  // going to do, `first_step` to `last_step`.
  StepProfile(const std::optional<StepRange>& range, std::string dir, int64_t first_step, int64_t last_step);
  // Gives the recording up.
  ~StepProfile();
  StepProfile(const StepProfile&) = delete;
  StepProfile& operator=(const StepProfile&) = delete;

  bool begins_with(int64_t step) const { return range_ && !recording_ && step == range_->first; }
  bool ends_with(int64_t step) const { return recording_ && step == range_->last; }
  // Starts recording, with the plugin's profiler where it has one. Returns lines for the log.
  std::vector<std::string> begin(const Backend& backend);
  bool recording() const { return recording_; }
  // Behind `last_step`, which a run that ends early has before the range's. Writes
  // `<dir>/profile/steps_10_13.trace.json` and what the plugin recorded, `….xplane.pb`. Returns lines for the log.
  // Throws `io`.
  std::vector<std::string> end(int64_t last_step);

 private:
  std::optional<StepRange> range_;
  std::string dir_;
  bool recording_ = false;
  std::unique_ptr<pjrt::DeviceProfiler> device_;
};

}  // namespace tenon
