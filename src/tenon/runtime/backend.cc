#include "tenon/runtime/backend.h"

#include <fmt/format.h>

#include "tenon/base/text.h"
#include "tenon/runtime/chips.h"

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

std::shared_ptr<const Chip> known_chip(const pjrt::Client& client) {
  if (client.devices().empty()) return nullptr;
  const Chip* chip = ChipTable::builtin().find_device(client.devices().front().kind);
  return chip == nullptr ? nullptr : std::make_shared<const Chip>(*chip);
}

// That plugin and devices are those described.
void check_described(const pjrt::Client& client, const Chip& chip) {
  const auto differs = [&](const char* what, const std::string& is, const std::string& said) {
    return Error(ErrorCode::plugin, fmt::format("the plugin has another {} than the device's description", what))
        .at(chip.setup.where)
        .got(fmt::format("{} from {}", quote_text(is), client.plugin()->path()))
        .expected(quote_text(said));
  };
  if (client.platform_name() != chip.platform) throw differs("platform", client.platform_name(), chip.platform);
  for (const pjrt::Device& device : client.devices()) {
    if (!chip.device_kind.empty() && device.kind != chip.device_kind) {
      throw differs("device_kind", device.kind, chip.device_kind);
    }
  }
}

}  // namespace

std::shared_ptr<const Backend> Backend::open(const Chip& chip) {
  const std::shared_ptr<const pjrt::Plugin> plugin = load_plugin(chip.platform, chip.setup);
  pjrt::Options options = chip.setup.client_options;
  if (chip.platform == "cpu") options.emplace(pjrt::kCpuDeviceCount, int64_t{1});
  std::shared_ptr<const pjrt::Client> client = pjrt::Client::create(plugin, options).value();
  check_described(*client, chip);
  return std::shared_ptr<const Backend>(
      new Backend(chip.platform, std::move(client), std::make_shared<const Chip>(chip)));
}

std::shared_ptr<const Backend> Backend::open(std::string_view platform) {
  const Platform wanted = parse_platform(platform);
  std::shared_ptr<const pjrt::Plugin> plugin = pjrt::Plugin::open(wanted.name).value();
  std::shared_ptr<const pjrt::Client> client =
      wanted.name == "cpu"
          ? pjrt::Client::create(std::move(plugin), pjrt::CpuClientOptions{.device_count = wanted.num_devices}).value()
          : pjrt::Client::create(std::move(plugin)).value();
  // A plugin of another platform may open as well as the one that was meant.
  if (client->platform_name() != wanted.name) {
    throw pjrt::another_platform(client->plugin()->path(), client->platform_name(), wanted.name);
  }
  return std::make_shared<const Backend>(wanted.name, std::move(client));
}

Backend::Backend(std::string platform, std::shared_ptr<const pjrt::Client> client)
    : Backend(std::move(platform), client, known_chip(*client)) {}

Backend::Backend(std::string platform, std::shared_ptr<const pjrt::Client> client, std::shared_ptr<const Chip> chip)
    : platform_(std::move(platform)),
      client_(std::move(client)),
      chip_(std::move(chip)),
      default_flags_(flags_of(platform_)) {
  if (client_->devices().empty()) {
    throw Error(ErrorCode::plugin, fmt::format("platform {} has no device in this machine", platform_));
  }
  if (chip_) {
    for (const auto& [name, value] : chip_->setup.compile_options) default_flags_[name] = value;
  }
  take_kernels();
}

std::vector<int64_t> Backend::device_ids() const {
  std::vector<int64_t> ids;
  for (const pjrt::Device& device : client_->devices()) ids.push_back(device.id);
  return ids;
}

void Backend::check_devices(const Mesh& mesh) const {
  if (mesh.num_devices() <= num_devices()) return;
  throw Error(ErrorCode::mesh_mismatch, "the mesh has more devices than the platform")
      .got(fmt::format("mesh {} = {} devices", to_string(mesh), mesh.num_devices()))
      .expected(fmt::format("at most {} on {}", num_devices(), platform()));
}

// A plugin that can't run own kernels goes without, unless some were asked for.
void Backend::take_kernels() {
  const DeviceSetup none, &setup = chip_ ? chip_->setup : none;
  kernels_ = kernels_of(platform_, setup, client_->devices().front().compute_capability);
  const Status registered = register_kernels(*client_->plugin(), kernels_);
  if (registered.ok()) return;
  Error e = registered.error();
  if (e.code() != ErrorCode::unsupported) throw e;
  if (setup.kernels) throw std::move(e).at(setup.where).hint("leave `kernels` out, or make it []");
  kernels_.clear();
}

}  // namespace tenon
