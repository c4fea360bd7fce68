#include "tenon/runtime/backend.h"

#include <fmt/format.h>

#include "tenon/base/text.h"

namespace tenon {
namespace {

constexpr int64_t kMaxVirtualDevices = 256;

struct Platform {
  std::string name;
  int64_t num_devices = 1;
};

Platform parse_platform(std::string_view text) {
  const size_t colon = text.find(':');
  Platform result{std::string(text.substr(0, colon))};
  if (colon == std::string_view::npos) return result;
  const Result<int64_t> count = parse_int(text.substr(colon + 1));
  if (result.name != "cpu" || !count || *count < 1 || *count > kMaxVirtualDevices) {
    throw Error(ErrorCode::invalid_argument, "not a platform")
        .got(fmt::format("\"{}\"", text))
        .expected(fmt::format("cpu, cpu:N with N from 1 to {}, cuda, tpu or rocm", kMaxVirtualDevices));
  }
  result.num_devices = *count;
  return result;
}

std::map<std::string, std::string> flags_of(const std::string& platform) {
  // Measured: training steps are a tenth faster when the scheduler goes for memory instead of concurrency. The fast
  // minimum and maximum lose NaN.
  if (platform == "cpu") {
    return {{"xla_cpu_enable_concurrency_optimized_scheduler", "false"}, {"xla_cpu_enable_fast_min_max", "false"}};
  }
  return {};
}

}  // namespace

std::shared_ptr<const Backend> Backend::open(std::string_view platform) {
  const Platform wanted = parse_platform(platform);
  std::shared_ptr<const pjrt::Plugin> plugin = pjrt::Plugin::open(wanted.name).value();
  std::shared_ptr<const pjrt::Client> client =
      wanted.name == "cpu"
          ? pjrt::Client::create(std::move(plugin), pjrt::CpuClientOptions{.device_count = wanted.num_devices}).value()
          : pjrt::Client::create(std::move(plugin)).value();
  return std::make_shared<const Backend>(wanted.name, std::move(client));
}

Backend::Backend(std::string platform, std::shared_ptr<const pjrt::Client> client)
    : platform_(std::move(platform)), client_(std::move(client)), default_flags_(flags_of(platform_)) {
  if (client_->devices().empty()) {
    throw Error(ErrorCode::plugin, fmt::format("platform {} has no device in this machine", platform_));
  }
  const Status registered = register_kernels(*client_->plugin(), platform_);
  if (registered.ok()) {
    kernels_ = kernels_for(platform_, client_->devices().front().compute_capability);
  } else if (registered.error().code() != ErrorCode::unsupported) {
    throw registered.error();
  }
}

}  // namespace tenon
