#include "tenon/aot/step_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tenon/base/text.h"
#include "tenon/kernels/kernels.h"
#include "tenon/trainer/trace_step.h"

namespace tenon {
namespace {

constexpr std::array<std::string_view, 7> kCollectives = {
    "all-gather",         "all-reduce",        "all-to-all",    "collective-broadcast",
    "collective-permute", "ragged-all-to-all", "reduce-scatter"};

std::string bytes(int64_t count) { return format_bytes(static_cast<uint64_t>(std::max<int64_t>(count, 0))); }

std::string format_collectives(const std::map<std::string, int64_t>& instructions) {
  if (instructions.empty()) return "not shown by the plugin";
  std::vector<std::string> pieces;
  for (const auto& [kind, count] : count_collectives(instructions)) pieces.push_back(fmt::format("{} {}", count, kind));
  return pieces.empty() ? "none" : join(pieces, ", ");
}

}  // namespace

void StepReport::require_fit() const {
  if (fits()) return;
  throw Error(ErrorCode::out_of_memory, fmt::format("the train step doesn't fit a device of {}", chip.name))
      .got(bytes(compiled.memory.total()))
      .expected(fmt::format("at most {}", bytes(chip.memory_bytes)))
      .hint(
          "split over more devices, use a smaller batch or more accumulation, or recompute more in the backward pass");
}

StepReport compile_train_step(const Trainer::Config& config, std::string_view target) {
  StepReport report;
  report.chip = ChipTable::builtin().find(target.substr(0, target.find(':')));
  const AotTarget parsed = AotTarget::parse(target);
  const AotMachine machine = AotMachine::open(parsed);
  const KernelList kernels = kernels_for(parsed.platform, machine.compute_capability());
  const TracedStep traced = trace_train_step(config, machine.num_devices(), kernels);
  report.kernels = traced.step.program.kernels;
  report.mesh = traced.mesh;
  report.flops = traced.step.flops;
  report.host_bytes = host_argument_bytes(traced.step.program, traced.mesh);
  report.compiled = machine.compile(traced.mesh, traced.step.program);
  return report;
}

std::map<std::string, int64_t> count_collectives(const std::map<std::string, int64_t>& instructions) {
  std::map<std::string, int64_t> counts;
  for (const auto& [opcode, count] : instructions) {
    for (const std::string_view kind : kCollectives) {
      if (opcode == kind || opcode == std::string(kind) + "-start") counts[std::string(kind)] += count;
    }
  }
  return counts;
}

std::string format_report(const StepReport& report) {
  const AotResult& c = report.compiled;
  const pjrt::MemoryStats& m = c.memory;
  std::string out = fmt::format("{} x {}, mesh {}\n", c.num_devices, c.device_kind, to_string(report.mesh));
  out += fmt::format("train step: compiled in {:.1f} s, {:.3f} GFLOPs\n", c.seconds, report.flops / 1e9);
  for (const KernelChoice& choice : report.kernels) out += to_string(choice) + "\n";
  out += fmt::format("collectives: {} (a loop's body counted once)\n", format_collectives(c.instructions));
  for (const pjrt::CompilerWarning& w : c.warnings) out += fmt::format("warning: at {}: {}\n", w.op, w.text);
  out += "memory on each device, as the compiler counts it:\n";
  out += fmt::format("  arguments    {:>10}\n", bytes(m.argument));
  out += fmt::format("  results      {:>10}  ({} of them in place of arguments)\n", bytes(m.output), bytes(m.alias));
  out += fmt::format("  temporaries  {:>10}\n", bytes(m.temporary));
  out += fmt::format("  code         {:>10}\n", bytes(m.generated_code));
  out += fmt::format("  in all       {:>10}  of {} ({})\n", bytes(m.total()), bytes(report.chip.memory_bytes),
                     report.chip.name);
  const bool on_host = report.host_bytes > 0;
  if (m.peak > 0) {
    out += fmt::format("  peak         {:>10}{}\n", bytes(m.peak), on_host ? "  with what lies in host memory" : "");
  }
  if (on_host) out += fmt::format("state in host memory, for each device: {}\n", bytes(report.host_bytes));
  out += fmt::format("fits: {}", report.fits() ? "yes" : "no");
  return out;
}

}  // namespace tenon
