#include "tenon/runtime/aot.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "tenon/base/clock.h"
#include "tenon/base/hash.h"
#include "tenon/base/text.h"
#include "tenon/runtime/gpu_targets.h"

namespace tenon {
namespace {

constexpr int64_t kMaxDevices = int64_t{1} << 20;
// libtpu ends the process at 512.
constexpr int64_t kMaxSlices = 511;
constexpr std::string_view kCpu = "cpu", kTpu = "tpu";

Error bad_target(std::string_view text) {
  return Error(ErrorCode::invalid_argument, "not a machine to compile for")
      .at("--target")
      .got(quote_text(text))
      .expected(
          "TPU generation and chips, as v5p:2x2x1 or v5p:2x2x1*2 for two slices; for other chips hosts x devices, as "
          "h100:32x8, or a number, as h100:4 (above a host's a multiple of it); or cpu:8");
}

// "2x2x1" as numbers; none when it isn't that.
std::vector<int64_t> parse_sides(std::string_view text) {
  std::vector<int64_t> out;
  int64_t total = 1;
  for (const std::string& piece : split(text, 'x')) {
    const Result<int64_t> side = parse_int(piece);
    if (!side || *side < 1 || *side > kMaxDevices || (total *= *side) > kMaxDevices) return {};
    out.push_back(*side);
  }
  return out;
}

// libtpu describes larger ones for minutes, or ends the process.
void check_slice(std::string_view text, int64_t num_chips, const Chip& chip) {
  if (chip.slice_chips == 0 || num_chips <= chip.slice_chips) return;
  throw Error(ErrorCode::invalid_argument, fmt::format("there is no slice of so many {} chips", chip.name))
      .at("--target")
      .got(fmt::format("{}: {} chips", quote_text(text), num_chips))
      .expected(fmt::format("at most {}", chip.slice_chips))
      .hint(fmt::format("of several slices say the chips of one and how many, as {}:2x2x1*4", chip.name));
}

// Of a TPU, the sides of a slice and how many of them.
void parse_tpu(std::string_view text, std::string_view rest, const Chip& chip, AotTarget& target) {
  const size_t star = rest.find('*');
  const std::string_view slice = rest.substr(0, star);
  const std::vector<int64_t> sides = parse_sides(slice);
  if (sides.size() < 2 || sides.size() > 3) throw bad_target(text);
  target.shape = slice;
  const int64_t num_chips = std::accumulate(sides.begin(), sides.end(), int64_t{1}, std::multiplies<>());
  check_slice(text, num_chips, chip);
  target.num_devices = num_chips * chip.devices_per_chip;
  if (star == std::string_view::npos) return;
  const Result<int64_t> slices = parse_int(rest.substr(star + 1));
  if (!slices || *slices < 1) throw bad_target(text);
  if (*slices > kMaxSlices) {
    throw Error(ErrorCode::unsupported, "there is no compiler for so many slices")
        .got(quote_text(text))
        .expected(fmt::format("at most {}", kMaxSlices));
  }
  target.num_slices = *slices;
  target.num_devices *= *slices;
}

const Chip& find_chip(std::string_view name, const ChipTable& chips) {
  std::vector<std::string> names;
  for (const Chip& chip : chips.chips()) names.push_back(chip.name);
  names.emplace_back(kCpu);
  if (std::find(names.begin(), names.end(), name) != names.end()) return chips.find(name);
  throw Error(ErrorCode::unknown_name, fmt::format("no chip is called {}", quote_text(name)))
      .at("--target")
      .expected(join(names, ", "))
      .hint(did_you_mean(name, names));
}

Error bad_hosts(std::string_view text, int64_t most_of_host, std::string expected) {
  return Error(ErrorCode::invalid_argument, fmt::format("hosts of this kind have {} devices", most_of_host))
      .at("--target")
      .got(quote_text(text))
      .expected(std::move(expected));
}

void parse_hosts(std::string_view text, std::string_view rest, int64_t most_of_host, AotTarget& target) {
  const std::vector<int64_t> sides = parse_sides(rest);
  if (sides.empty() || sides.size() > 2) throw bad_target(text);
  const int64_t most = most_of_host > 0 ? most_of_host : kMaxDevices;
  int64_t hosts = sides[0];
  if (sides.size() == 2) {
    target.host_devices = sides[1];
    if (sides[1] > most) throw bad_hosts(text, most, fmt::format("at most {} devices of each host", most));
  } else {
    hosts = sides[0] > most ? sides[0] / most : 1;
    target.host_devices = sides[0] / hosts;
    if (sides[0] > most && sides[0] % most != 0) {
      throw bad_hosts(text, most, fmt::format("up to {0}, or a multiple of it; or hosts x devices, as 2x{0}", most));
    }
  }
  target.num_devices = hosts * target.host_devices;
  target.shape = fmt::format("1x{}x{}", hosts, target.host_devices);
}

// "2" for "{hosts}" and so on.
std::string fill_in(std::string text, const AotTarget& target) {
  const int64_t per_host = std::max<int64_t>(1, target.host_devices);
  const std::pair<std::string_view, std::string> fields[] = {
      {"{name}", target.name},
      {"{shape}", target.shape},
      {"{hosts}", std::to_string(target.num_devices / per_host)},
      {"{devices}", std::to_string(per_host)},
      {"{num_devices}", std::to_string(target.num_devices)},
  };
  for (const auto& [field, value] : fields) {
    for (size_t at = text.find(field); at != std::string::npos; at = text.find(field, at + value.size())) {
      text.replace(at, field.size(), value);
    }
  }
  return text;
}

// What the plugin calls the machine, and the options that describe it.
std::pair<std::string, pjrt::Options> describe_machine(const AotTarget& target, const DeviceSetup& setup) {
  if (setup.aot) {
    pjrt::Options options = setup.topology_options;
    for (auto& [key, value] : options) {
      if (auto* text = std::get_if<std::string>(&value)) *text = fill_in(*text, target);
    }
    return {fill_in(setup.topology, target), std::move(options)};
  }
  pjrt::Options options;
  if (target.platform == kTpu) {
    if (target.num_slices > 1) options.emplace("num_slices", target.num_slices);
    return {fmt::format("{}:{}", target.name, target.shape), std::move(options)};
  }
  options.emplace("topology", target.shape);
  if (target.platform == "cuda" || target.platform == "rocm")
    options.emplace("target_config", gpu_target_config(target.name));
  return {target.shape, std::move(options)};
}

// Where devices are virtual there are as many as are asked for.
Chip with_devices(Chip chip, int64_t num_devices) {
  if (chip.platform == kCpu) chip.setup.client_options.emplace(pjrt::kCpuDeviceCount, num_devices);
  return chip;
}

}  // namespace

AotTarget AotTarget::parse(std::string_view text, const ChipTable& chips) {
  const size_t colon = text.find(':');
  AotTarget target;
  target.name = text.substr(0, colon);
  const std::string_view rest = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  if (target.name == kCpu) {
    target.platform = kCpu;
    parse_hosts(text, colon == std::string_view::npos ? "1" : rest, 0, target);
    target.linked_devices = target.num_devices;
    return target;
  }
  const Chip& chip = find_chip(target.name, chips);
  target.platform = chip.platform;
  if (chip.platform == kTpu) {
    parse_tpu(text, rest, chip, target);
  } else {
    parse_hosts(text, rest, chip.host_devices, target);
  }
  const bool by_host = chip.platform != kTpu && chip.host_devices > 0;
  target.linked_devices = by_host ? target.host_devices : target.num_devices / target.num_slices;
  return target;
}

void AotTarget::check_outer(const Mesh& mesh) const {
  int64_t parts = 1;
  for (const int64_t outer : mesh.outer()) parts *= outer;
  const int64_t machines = num_devices / linked_devices;
  if (machines % parts == 0 || parts % machines == 0) return;
  const std::string_view kind = num_slices > 1 ? "slices" : "nodes";
  throw Error(ErrorCode::mesh_mismatch, fmt::format("the mesh's outer part doesn't fit the machine's {}", kind))
      .at("mesh.outer")
      .got(fmt::format("mesh {}: {} parts", to_string(mesh), parts))
      .expected(fmt::format("{}, as many as there are {}, or what divides it or is divided by it", machines, kind));
}

int64_t AotTarget::num_links() const {
  if (platform != kTpu) return 1;
  int64_t links = 0;
  for (const int64_t side : parse_sides(shape)) links += side > 2 ? 2 : side == 2 ? 1 : 0;
  return std::max<int64_t>(1, links);
}

AotMachine AotMachine::open(const AotTarget& target, const ChipTable& chips) {
  const bool is_cpu = target.name == kCpu;
  AotMachine machine(target, is_cpu ? DeviceSetup() : chips.find(target.name).setup);
  const AotWay way = aot_way(target.platform, machine.setup_);
  if (way == AotWay::none) {
    throw Error(ErrorCode::unsupported, "programs for this chip are compiled only where it is")
        .at(machine.setup_.where)
        .got(target.name)
        .hint("--analytic gives a bound without compiling");
  }
  if (way == AotWay::topology) {
    const auto [name, options] = describe_machine(target, machine.setup_);
    std::shared_ptr<const pjrt::Plugin> plugin = load_plugin(target.platform, machine.setup_);
    Result<pjrt::Topology> topology = pjrt::Topology::create(std::move(plugin), name, options);
    if (!topology && topology.error().code() == ErrorCode::unsupported) {
      throw Error(topology.error()).hint(fmt::format("the plugin is perhaps none for {}", target.platform));
    }
    machine.topology_ = std::make_shared<const pjrt::Topology>(std::move(topology).value());
    return machine;
  }
  machine.backend_ = is_cpu ? Backend::open(fmt::format("cpu:{}", target.num_devices))
                            : Backend::open(with_devices(chips.find(target.name), target.num_devices));
  if (machine.num_devices() != target.num_devices) {
    throw Error(ErrorCode::mesh_mismatch,
                "this chip is compiled for on the devices that are here, and there is another number of them")
        .at(machine.setup_.where)
        .got(fmt::format("{} devices", machine.num_devices()))
        .expected(std::to_string(target.num_devices));
  }
  return machine;
}

AotMachine AotMachine::of(std::shared_ptr<const Backend> backend) {
  AotMachine machine({}, {});
  machine.backend_ = std::move(backend);
  return machine;
}

int64_t AotMachine::num_devices() const {
  return backend_ ? backend_->num_devices() : static_cast<int64_t>(topology_->device_ids().size());
}

const std::string& AotMachine::device_kind() const {
  return backend_ ? backend_->device_kind() : topology_->device_kind();
}

int AotMachine::compute_capability() const { return backend_ ? 0 : topology_->compute_capability(); }

KernelList AotMachine::kernels() const {
  return backend_ ? backend_->kernels() : kernels_of(target_.platform, setup_, compute_capability());
}

const pjrt::Plugin& AotMachine::plugin() const { return backend_ ? *backend_->client().plugin() : topology_->plugin(); }

pjrt::CompileOptions AotMachine::options(const Mesh& mesh, const Program& program) const {
  validate(program, mesh);
  check_largest(program.largest, backend_ ? backend_->platform() : target_.platform);
  if (mesh.num_devices() != num_devices()) {
    throw Error(ErrorCode::mesh_mismatch, "the mesh does not fit the machine to compile for")
        .got(fmt::format("mesh {} = {} devices", to_string(mesh), mesh.num_devices()))
        .expected(fmt::format("{} ({})", num_devices(), device_kind()));
  }
  if (backend_) return make_compile_options(program, backend_->default_flags(), mesh, backend_->device_ids());
  std::map<std::string, std::string> flags = setup_.compile_options;
  // With no device to try kernels on, AMD's compiler ends the process over convolutions; so it refuses them.
  if (target_.platform == "rocm") flags.emplace("xla_gpu_autotune_level", "0");
  return make_compile_options(program, flags, mesh, topology_->device_ids());
}

SavedProgram::Key AotMachine::key(const Mesh& mesh, const Program& program) const {
  const pjrt::ApiVersion version = plugin().api_version();
  return {sha256_hex(program.text), sha256_hex(pjrt::serialize(options(mesh, program))),
          fmt::format("{} API {}.{}", plugin().fingerprint().value(), version.major, version.minor),
          fmt::format("{} x {}", num_devices(), device_kind())};
}

AotResult AotMachine::compile(const Mesh& mesh, const Program& program, bool save) const {
  const pjrt::CompileOptions options = this->options(mesh, program);
  AotResult result;
  result.device_kind = device_kind();
  const auto read = [&](const pjrt::CompiledProgram& compiled) {
    result.warnings = compiled.warnings();
    result.memory = compiled.memory_stats().value();
    if (Result<pjrt::HloModule> module = compiled.optimized_program()) result.optimized = std::move(module).value();
    if (Result<std::map<std::string, double>> cost = compiled.cost_analysis()) result.cost = *cost;
    if (save) result.saved = SavedProgram{key(mesh, program), compiled.serialize().value()};
  };
  const double start = steady_seconds();
  if (backend_) {
    const Result<pjrt::Executable> done = backend_->client().compile(program.text, options);
    result.seconds = steady_seconds() - start;
    if (!done) throw at_ops(done.error(), program);
    read((*done).program());
  } else {
    const Result<pjrt::CompiledProgram> done = topology_->compile(program.text, options);
    result.seconds = steady_seconds() - start;
    if (!done) throw at_ops(done.error(), program);
    read(*done);
  }
  return result;
}

AotResult compile_aot(const AotTarget& target, const Mesh& mesh, const Program& program) {
  return AotMachine::open(target).compile(mesh, program);
}

}  // namespace tenon
