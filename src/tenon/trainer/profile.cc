#include "tenon/trainer/profile.h"

#include <fmt/format.h>

#include "tenon/base/file.h"
#include "tenon/base/json.h"
#include "tenon/base/text.h"
#include "tenon/pjrt/device_profiler.h"
#include "tenon/runtime/backend.h"

namespace tenon {

Result<StepRange> parse_step_range(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    const Result<int64_t> first = parse_int(text.substr(0, colon)), last = parse_int(text.substr(colon + 1));
    if (first && last && *first >= 1 && *first <= *last) return StepRange{*first, *last};
  }
  return Error(ErrorCode::invalid_argument, "not a range of steps")
      .got(quote_text(text))
      .expected("the first and the last step, as 10:13, counted from 1");
}

std::string to_string(const StepRange& range) { return fmt::format("{}:{}", range.first, range.last); }

std::string to_chrome_trace(const SpanRecording& recording) {
  Json::List events;
  const auto name = [](const std::string& text) { return Json::Object{{"name", text}}; };
  events.push_back(Json::Object{{"name", "process_name"}, {"ph", "M"}, {"pid", 1}, {"args", name("tenon")}});
  for (const auto& [thread, thread_name] : recording.thread_names) {
    events.push_back(
        Json::Object{{"name", "thread_name"}, {"ph", "M"}, {"pid", 1}, {"tid", thread}, {"args", name(thread_name)}});
  }
  const auto micros = [](double seconds) { return seconds * 1e6; };
  for (const SpanEvent& e : recording.events) {
    events.push_back(Json::Object{{"name", e.name},
                                  {"ph", "X"},
                                  {"pid", 1},
                                  {"tid", e.thread},
                                  {"ts", micros(e.begin_s - recording.begin_s)},
                                  {"dur", micros(e.end_s - e.begin_s)}});
  }
  const Json trace(Json::Object{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}});
  return trace.text({.ascii = true, .replace_bad_utf8 = true}) + "\n";
}

StepProfile::StepProfile(const std::optional<StepRange>& range, std::string dir, int64_t first_step, int64_t last_step)
    : range_(range), dir_(std::move(dir)) {
  if (!range_ || (first_step <= range_->first && range_->last <= last_step)) return;
  throw Error(ErrorCode::invalid_argument, "the steps to profile aren't among those of this run")
      .at("profile")
      .got(to_string(*range_))
      .expected(first_step <= last_step ? fmt::format("steps from {} to {}", first_step, last_step)
                                        : "a run that has steps to do");
}

StepProfile::~StepProfile() {
  if (recording_) stop_recording();
}

std::vector<std::string> StepProfile::begin(const Backend& backend) {
  std::vector<std::string> lines;
  Result<std::unique_ptr<pjrt::DeviceProfiler>> device = pjrt::DeviceProfiler::start(backend.client().plugin());
  if (device) {
    device_ = std::move(*device);
  } else if (device.error().code() == ErrorCode::unsupported) {
    lines.push_back(fmt::format("profile: the plugin of {} has no profiler: host spans only", backend.platform()));
  } else {
    lines.push_back(fmt::format("warning: the plugin's profiler doesn't start: {}", device.error().what()));
  }
  start_recording();
  recording_ = true;
  return lines;
}

std::vector<std::string> StepProfile::end(int64_t last_step) {
  const SpanRecording recording = stop_recording();
  recording_ = false;
  make_dirs(join_path(dir_, "profile")).value();
  const std::string stem = join_path(dir_, fmt::format("profile/steps_{}_{}", range_->first, last_step));
  write_file_atomic(stem + ".trace.json", to_chrome_trace(recording)).value();
  std::vector<std::string> lines{fmt::format("profile: steps {} to {} in {}.trace.json ({} spans; ui.perfetto.dev)",
                                             range_->first, last_step, stem, recording.events.size())};
  if (device_ == nullptr) return lines;
  const Result<std::string> bytes = std::exchange(device_, nullptr)->stop();
  if (!bytes) {
    lines.push_back(fmt::format("warning: the plugin's profiler: {}", bytes.error().what()));
  } else {
    write_file_atomic(stem + ".xplane.pb", *bytes).value();
    lines.push_back(fmt::format("profile: the plugin's own in {}.xplane.pb (XProf, TensorBoard)", stem));
  }
  return lines;
}

}  // namespace tenon
