// The profiler of a plugin: what its devices did, as the plugin records it.
#pragma once

#include <memory>
#include <string>

#include "tenon/base/result.h"
#include "tenon/pjrt/plugin.h"

namespace tenon::pjrt {

// One recording.
class DeviceProfiler {
 public:
  // Starts recording. Errors: `unsupported` for a plugin without the extension (the CPU's), `plugin` with its words.
  static Result<std::unique_ptr<DeviceProfiler>> start(std::shared_ptr<const Plugin> plugin);
  // Gives an unfinished recording up.
  ~DeviceProfiler();
  DeviceProfiler(const DeviceProfiler&) = delete;
  DeviceProfiler& operator=(const DeviceProfiler&) = delete;

  // Ends it: a serialized `tensorflow.profiler.XSpace`. Errors: `plugin`. Once only.
  Result<std::string> stop();

 private:
  struct Impl;
  explicit DeviceProfiler(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon::pjrt
