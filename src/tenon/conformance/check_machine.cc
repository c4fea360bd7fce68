#include "tenon/conformance/check_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "tenon/base/text.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kCpuDevices = 4;

// The platform whose plugin a file is: that which is installed, or whose name is in the file's; "" for another.
std::string platform_of(const std::string& file) {
  std::error_code failed;
  for (const std::string& platform : pjrt::known_platforms()) {
    const Result<std::string> installed = pjrt::find_plugin(platform);
    if (installed && fs::equivalent(*installed, file, failed)) return platform;
  }
  const std::string name = fs::path(file).filename().string();
  for (const std::string& platform : pjrt::known_platforms()) {
    if (name.find(platform) != std::string::npos) return platform;
  }
  return "";
}

// A machine of four devices.
std::string some_target(const CheckSubject& subject) {
  if (!subject.target.empty()) return subject.target;
  const std::string platform = subject.device ? subject.device->platform : subject.platform;
  const std::string name = subject.device       ? subject.device->name
                           : platform == "tpu"  ? "v5p"
                           : platform == "cuda" ? "h100"
                           : platform == "rocm" ? "mi300x"
                                                : "";
  const bool described = subject.device && aot_way(platform, subject.device->setup) == AotWay::topology;
  if (name.empty() || (subject.device && !described)) {
    throw Error(ErrorCode::unsupported, "there is no machine to describe to the plugin")
        .hint("name one: --target, or --device with a description that has a table `topology`");
  }
  return name + (platform == "tpu" ? ":2x2x1" : ":4");
}

// The smallest machine of the target's kind: one chip.
std::string single_of(const AotTarget& target) {
  if (target.platform != "tpu") return target.name + ":1";
  const bool flat = std::count(target.shape.begin(), target.shape.end(), 'x') == 1;
  return target.name + (flat ? ":1x1" : ":1x1x1");
}

// The CPU's machines are its own plugin's devices, so that no other could be asked.
void check_target(const CheckSubject& subject, const AotTarget& target) {
  const bool other_cpu = target.name == "cpu" && subject.plugin != pjrt::find_plugin("cpu").value();
  if (!other_cpu && (subject.device || target.platform == subject.platform)) return;
  throw Error(ErrorCode::invalid_argument, "the target isn't one of the plugin's platform")
      .at("--target")
      .got(target.name)
      .hint("describe what the plugin compiles for in a file, and name that with --device");
}

}  // namespace

CheckSubject CheckSubject::parse(const std::string& plugin_or_platform) {
  CheckSubject out;
  if (pjrt::is_known_platform(plugin_or_platform)) {
    out.platform = plugin_or_platform;
    out.plugin = pjrt::find_plugin(plugin_or_platform).value();
  } else {
    // The loader looks elsewhere for bare names.
    out.plugin = fs::absolute(plugin_or_platform).lexically_normal().string();
    out.platform = platform_of(plugin_or_platform);
  }
  return out;
}

std::shared_ptr<const pjrt::Plugin> CheckSubject::load() const {
  DeviceSetup setup = device ? device->setup : DeviceSetup();
  if (!plugin.empty()) setup.plugin = plugin;
  return load_plugin(device ? device->platform : platform, setup);
}

CheckMachine CheckMachine::open_devices(const CheckSubject& subject) {
  CheckMachine out;
  if (subject.device) {
    Chip chip = *subject.device;
    if (!subject.plugin.empty()) chip.setup.plugin = subject.plugin;
    out.backend_ = Backend::open(chip);
  } else {
    pjrt::Options options;
    if (subject.platform == "cpu") options.emplace(pjrt::kCpuDeviceCount, kCpuDevices);
    const std::shared_ptr<const pjrt::Client> client = pjrt::Client::create(subject.load(), options).value();
    out.backend_ = std::make_shared<const Backend>(client->platform_name(), client);
  }
  out.machine_ = AotMachine::of(out.backend_);
  return out;
}

CheckMachine CheckMachine::open_described(const CheckSubject& subject) {
  const std::string text = some_target(subject);
  ChipTable chips = ChipTable::builtin();
  if (subject.device) chips = chips.with(*subject.device);
  const AotTarget target = AotTarget::parse(text, chips);
  check_target(subject, target);
  if (!subject.plugin.empty() && target.name != "cpu") {
    Chip chip = chips.find(target.name);
    chip.setup.plugin = subject.plugin;
    chips = chips.with(chip);
  }
  CheckMachine out;
  out.machine_ = AotMachine::open(target, chips);
  const AotTarget one = AotTarget::parse(single_of(target), chips);
  if (target.num_devices == 1 || one.num_devices != 1 || target.name == "cpu") return out;
  try {
    out.single_ = AotMachine::open(one, chips);
  } catch (const Error&) {
    // The plugin knows no such machine.
  }
  return out;
}

int64_t CheckMachine::num_devices() const { return machine_->num_devices(); }
const std::string& CheckMachine::device_kind() const { return machine_->device_kind(); }
const pjrt::Plugin& CheckMachine::plugin() const { return machine_->plugin(); }
KernelList CheckMachine::kernels() const { return machine_->kernels(); }

Mesh CheckMachine::least_mesh() const {
  if (has_single()) return {};
  return num_devices() == 4 ? Mesh{{"data", 2}, {"model", 2}} : Mesh{{"data", num_devices()}};
}

std::optional<std::vector<Literal>> CheckMachine::run(const Mesh& mesh, const Program& program,
                                                      const std::vector<Literal>& args) const {
  if (!runs()) {
    (mesh.num_devices() == 1 && single_ ? *single_ : *machine_).compile(mesh, program);
    return std::nullopt;
  }
  return Jitted(backend_, tenon::compile(backend_, mesh, program))(args);
}

AotResult CheckMachine::compile(const Mesh& mesh, const Program& program, bool save) const {
  return machine_->compile(mesh, program, save);
}

}  // namespace tenon
