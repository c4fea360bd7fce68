// Reports as lines for people.
#include <fmt/format.h>

#include <algorithm>

#include "tenon/aot/step_report.h"
#include "tenon/base/text.h"

namespace tenon {
namespace {

constexpr size_t kMostModules = 8;

std::string bytes(double count) { return format_bytes(static_cast<uint64_t>(std::max(count, 0.0))); }
std::string bytes(int64_t count) { return bytes(static_cast<double>(count)); }

// A line around its first number.
struct Numbered {
  std::string before, number, after;
};
Numbered split_at_number(const std::string& line) {
  constexpr std::string_view kDigits = "0123456789";
  const size_t from = std::min(line.find_first_of(kDigits), line.size());
  const size_t to = std::min(line.find_first_not_of(kDigits, from), line.size());
  return {line.substr(0, from), line.substr(from, to - from), line.substr(to)};
}

// Choices of layers one behind another are one line: "decoder.layers.0-31.attention: ...".
std::string format_kernels(const StepReport& r) {
  std::string out;
  for (size_t i = 0; i < r.kernels.size();) {
    const Numbered first = split_at_number(to_string(r.kernels[i++]));
    Result<int64_t> last = parse_int(first.number);
    std::string range = first.number;
    for (; last && i < r.kernels.size(); ++i) {
      const Numbered next = split_at_number(to_string(r.kernels[i]));
      if (next.before != first.before || next.after != first.after || next.number != std::to_string(*last + 1)) break;
      ++*last;
      range = first.number + "-" + next.number;
    }
    out += first.before + range + first.after + "\n";
  }
  return out;
}

std::string format_memory(const StepReport& r) {
  const pjrt::MemoryStats& m = r.compiled->memory;
  std::string out = "memory on each device, as the compiler counts it:\n";
  out += fmt::format("  arguments    {:>10}\n", bytes(m.argument));
  out += fmt::format("  results      {:>10}  ({} of them in place of arguments)\n", bytes(m.output), bytes(m.alias));
  out += fmt::format("  temporaries  {:>10}\n", bytes(m.temporary));
  out += fmt::format("  code         {:>10}\n", bytes(m.generated_code));
  if (r.workspace > 0) {
    out += fmt::format("  workspace    {:>10}  of libraries and kernels, by our own account\n", bytes(r.workspace));
  }
  out += fmt::format("  in all       {:>10}  of {} ({})\n", bytes(r.bytes()), bytes(r.chip.memory_bytes), r.chip.name);
  if (m.peak > 0) {
    const bool on_host = r.host_bytes > 0 || m.host_temporary > 0;
    out += fmt::format("  peak         {:>10}{}\n", bytes(m.peak), on_host ? "  with what lies in host memory" : "");
  }
  if (r.host_bytes > 0) out += fmt::format("state in host memory, for each device: {}\n", bytes(r.host_bytes));
  if (m.host_temporary > 0) out += fmt::format("  on the host  {:>10}\n", bytes(m.host_temporary));
  return out;
}

std::string format_modules(const StepReport& r) {
  std::string out;
  size_t shown = 0;
  for (const auto& [module, count] : bytes_by_module(r)) {
    if (shown++ == kMostModules) break;
    out += fmt::format("  {:>10}  {}\n", bytes(count), module);
  }
  return out;
}

std::string format_attribution(const StepReport& r) {
  std::string out = "of it, by our own account of the optimized program:\n";
  for (const auto& [group, count] : r.arguments) out += fmt::format("  {:<18} {:>10}\n", group, bytes(count));
  if (!r.peak) return out + "  temporaries: the plugin doesn't show its program\n";
  for (const BufferRole role : {BufferRole::gradient, BufferRole::saved_activation, BufferRole::temporary}) {
    out += fmt::format("  {:<18} {:>10}\n", to_string(role), bytes(r.peak->of(role)));
  }
  return out + "by module, when most is live:\n" + format_modules(r);
}

std::string format_arguments(const StepReport& r) {
  std::string out = "memory on each device, arguments alone:\n";
  for (const auto& [group, count] : r.arguments) out += fmt::format("  {:<18} {:>10}\n", group, bytes(count));
  out += fmt::format("  in all       {:>10}  of {} ({})\n", bytes(r.bytes()), bytes(r.chip.memory_bytes), r.chip.name);
  if (!r.peak) return out;
  out += "besides gradients, temporaries and, by our own estimate before it is compiled, at least:\n";
  out += fmt::format("  {:<18} {:>10}  if each is split over all devices\n", to_string(BufferRole::saved_activation),
                     bytes(r.peak->of(BufferRole::saved_activation)));
  return out + "by module:\n" + format_modules(r);
}

std::string format_collectives(const StepReport& r) {
  if (!r.collectives) return "collectives: not shown by the plugin\n";
  if (r.collectives->totals.empty()) return "collectives: none\n";
  std::string out = "collectives a step, loops' trips included (bytes on each device):\n";
  for (const CollectiveTotal& t : r.collectives->totals) {
    out += fmt::format("  {:>6.0f} x {:<18} over {:<12} of {:<6} {:>10}\n", t.count, t.kind, t.axes, t.group_size,
                       bytes(t.bytes));
  }
  if (r.collectives->unknown_loops > 0) {
    out += fmt::format("  ({} loops whose trips aren't known: their bodies are counted once)\n",
                       r.collectives->unknown_loops);
  }
  return out;
}

std::string format_flops(const StepReport& r) {
  std::string out = fmt::format("FLOPs of a step: {:.6g}", r.flops.total);
  if (r.flops.attention > 0) out += fmt::format(" ({:.6g} with attention by its mask)", r.flops.total_unmasked());
  out += fmt::format("; the model's: {:.6g}", r.model_flops.total);
  if (r.model_flops.attention > 0) out += fmt::format(" ({:.6g})", r.model_flops.total_unmasked());
  if (r.intensity() > 0) out += fmt::format("; {:.4g} FLOPs a byte of memory", r.intensity());
  return out + "\n";
}

std::string format_bound(const StepReport& r) {
  const StepBound& b = r.bound;
  if (b.seconds() == 0) return fmt::format("bound: the speeds of {} aren't known\n", r.chip.name);
  std::string out = fmt::format("a step takes at least {:.4g} s, by {}: compute {:.4g}, memory {:.4g}", b.seconds(),
                                b.by(), b.compute_s, b.memory_s);
  if (r.collectives) out += fmt::format(", links {:.4g}, network {:.4g}", b.link_s, b.network_s);
  if (r.model_flops.total > 0) {
    out += fmt::format("\nMFU at most {:.1f} % = the model's products / ({:.4g} s x {} x {:.4g} TFLOPS bf16)",
                       100 * r.mfu(), b.seconds(), r.mesh.num_devices(), r.chip.peak_flops() / 1e12);
    if (r.model_flops.attention > 0) out += fmt::format("; {:.1f} % by attention's mask", 100 * r.mfu_unmasked());
  }
  if (r.tokens > 0) {
    out += fmt::format("\nat most {:.4g} tokens/s, {:.4g} a device", r.tokens / b.seconds(),
                       r.tokens / b.seconds() / static_cast<double>(r.mesh.num_devices()));
  }
  return out + "\n";
}

}  // namespace

std::string format_report(const StepReport& r) {
  const std::string kind = r.compiled ? r.compiled->device_kind : r.chip.name;
  std::string out = fmt::format("{} x {}, mesh {}\n", r.mesh.num_devices(), kind, to_string(r.mesh));
  if (r.compiled) {
    out += fmt::format("{}: compiled in {:.1f} s, {:.3f} GFLOPs\n", r.name, r.compiled->seconds, r.flops.total / 1e9);
  } else {
    out += fmt::format("{}: {}\n", r.name, r.refused ? "the compiler refuses: too little memory" : "not compiled");
  }
  out += format_kernels(r);
  if (r.compiled) {
    out += format_collectives(r);
    for (const pjrt::CompilerWarning& w : r.compiled->warnings) {
      out += fmt::format("warning: {}{}\n", w.op.empty() ? "" : "at " + w.op + ": ", w.text);
    }
    out += format_memory(r) + format_attribution(r);
  } else {
    out += format_arguments(r);
  }
  out += format_flops(r);
  if (!r.refused) out += format_bound(r);
  if (!r.compiled && !r.refused)
    return out + fmt::format("fits: {}", r.fits() ? "the arguments do (not compiled)" : "no");
  return out + fmt::format("fits: {}", r.fits() ? "yes" : "no");
}

}  // namespace tenon
