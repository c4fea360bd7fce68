#include "tenon/runtime/aot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "tenon/base/clock.h"
#include "tenon/base/text.h"
#include "tenon/runtime/gpu_targets.h"

namespace tenon {
namespace {

constexpr int64_t kDevicesPerHost = 8;
constexpr int64_t kMaxDevices = int64_t{1} << 20;

Error bad_target(std::string_view text) {
  return Error(ErrorCode::invalid_argument, "not a machine to compile for")
      .got(fmt::format("\"{}\"", text))
      .expected("TPU generation and chips, as v5p:2x2x1, or GPU kind and number, as h100:4 (above 8 a multiple of 8)");
}

// "v5p", "v6e", "tpu7x": what libtpu calls its generations.
bool is_tpu_name(std::string_view name) {
  if (name.starts_with("tpu")) name.remove_prefix(2);
  return name.size() >= 2 && (name[0] == 'v' || name[0] == 'u') && std::isdigit(static_cast<unsigned char>(name[1]));
}

bool is_tpu_shape(std::string_view shape) {
  const std::vector<std::string> sides = split(shape, 'x');
  return (sides.size() == 2 || sides.size() == 3) && std::all_of(sides.begin(), sides.end(), [](const std::string& s) {
           const Result<int64_t> side = parse_int(s);
           return side && *side >= 1 && *side <= kMaxDevices;
         });
}

}  // namespace

AotTarget AotTarget::parse(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) throw bad_target(text);
  AotTarget target;
  target.name = text.substr(0, colon);
  const std::string_view rest = text.substr(colon + 1);
  if (is_tpu_name(target.name)) {
    if (!is_tpu_shape(rest)) throw bad_target(text);
    target.platform = "tpu";
    target.shape = rest;
    return target;
  }
  (void)gpu_target_config(target.name);
  const Result<int64_t> count = parse_int(rest);
  if (!count || *count < 1 || *count > kMaxDevices) throw bad_target(text);
  if (*count > kDevicesPerHost && *count % kDevicesPerHost != 0) throw bad_target(text);
  target.platform = "cuda";
  const int64_t hosts = std::max<int64_t>(1, *count / kDevicesPerHost);
  target.shape = fmt::format("1x{}x{}", hosts, *count / hosts);
  return target;
}

AotMachine AotMachine::open(const AotTarget& target) {
  std::shared_ptr<const pjrt::Plugin> plugin = pjrt::Plugin::open(target.platform).value();
  if (target.platform == "tpu") {
    return AotMachine(
        pjrt::Topology::create(std::move(plugin), fmt::format("{}:{}", target.name, target.shape)).value());
  }
  const pjrt::Options options{{"target_config", gpu_target_config(target.name)}, {"topology", target.shape}};
  return AotMachine(pjrt::Topology::create(std::move(plugin), target.shape, options).value());
}

AotResult AotMachine::compile(const Mesh& mesh, const Program& program) const {
  validate(program, mesh);
  if (mesh.num_devices() != num_devices()) {
    throw Error(ErrorCode::mesh_mismatch, "the mesh does not fit the machine to compile for")
        .got(fmt::format("mesh {} = {} devices", to_string(mesh), mesh.num_devices()))
        .expected(fmt::format("{} ({})", num_devices(), device_kind()));
  }
  const double start = steady_seconds();
  const Result<pjrt::CompiledProgram> done =
      topology_.compile(program.text, make_compile_options(program, {}, topology_.device_ids()));
  if (!done) throw at_ops(done.error(), program);
  const pjrt::CompiledProgram& compiled = *done;
  AotResult result;
  result.seconds = steady_seconds() - start;
  result.warnings = compiled.warnings();
  result.memory = compiled.memory_stats().value();
  result.num_devices = num_devices();
  result.device_kind = device_kind();
  if (Result<std::map<std::string, int64_t>> counts = compiled.instruction_counts()) result.instructions = *counts;
  if (Result<std::map<std::string, double>> cost = compiled.cost_analysis()) result.cost = *cost;
  return result;
}

AotResult compile_aot(const AotTarget& target, const Mesh& mesh, const Program& program) {
  return AotMachine::open(target).compile(mesh, program);
}

}  // namespace tenon
