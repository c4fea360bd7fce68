#include "tenon/aot/step_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tenon/aot/cpu_workspace.h"
#include "tenon/aot/hlo_traffic.h"
#include "tenon/aot/saved_estimate.h"
#include "tenon/base/hash.h"
#include "tenon/base/process_memory.h"
#include "tenon/base/processors.h"
#include "tenon/base/text.h"
#include "tenon/kernels/kernels.h"
#include "tenon/passes/pipeline.h"
#include "tenon/runtime/compiler_warnings.h"

namespace tenon {
namespace {

constexpr std::string_view kLearner = "learner.", kBatch = "batch.", kCache = "cache.";

// This machine's memory, shared by its virtual devices; its speeds aren't known.
Chip cpu_chip(int64_t num_devices) {
  Chip chip;
  chip.name = chip.platform = "cpu";
  chip.memory_bytes = memory_limit() / num_devices;
  chip.memory_source = "memory of this machine, shared by its virtual devices";
  return chip;
}

std::string group_of(std::string_view argument) {
  if (argument.starts_with(kLearner)) return "optimizer";
  if (argument.starts_with(kCache)) return "cache";
  static constexpr std::array<std::string_view, 9> kInputs = {"seed",  "step", "scalars", "counts", "ids",
                                                              "start", "last", "numbers", "keys"};
  const bool input =
      argument.starts_with(kBatch) || std::find(kInputs.begin(), kInputs.end(), argument) != kInputs.end();
  return input ? "inputs" : "parameters";
}

ArgumentBytes bytes_of_arguments(const Program& program, const Mesh& mesh) {
  ArgumentBytes out;
  for (size_t i = 0; i < program.arg_types.size(); ++i) {
    if (memory_of(program.arg_memory, i) != MemoryKind::device) continue;
    const TensorType& type = program.arg_types[i];
    const std::string name = i < program.arg_names.size() ? program.arg_names[i] : "";
    out[group_of(name)] += byte_size(TensorType{type.dtype, mesh.shard_dims(type.dims, program.arg_specs[i])});
  }
  return out;
}

// Of one device, where work is split evenly.
FlopCount share(const FlopCount& all, int64_t num_devices) {
  FlopCount out;
  return out.add(all, 1.0 / static_cast<double>(num_devices));
}

double mfu_of(const StepReport& report, double model_flops) {
  return mfu(model_flops, report.bound.seconds(), report.mesh.num_devices(), report.chip);
}

}  // namespace

int64_t StepReport::bytes() const {
  if (compiled) return compiled->memory.total() + workspace;
  int64_t sum = 0;
  for (const auto& [group, count] : arguments) sum += count;
  return sum;
}

bool StepReport::fits() const { return !refused && bytes() <= chip.memory_bytes; }

double StepReport::mfu() const { return mfu_of(*this, model_flops.all_products()); }
double StepReport::mfu_unmasked() const { return mfu_of(*this, model_flops.unmasked_products()); }

double StepReport::intensity() const {
  return memory_traffic > 0 ? flops.total / static_cast<double>(mesh.num_devices()) / memory_traffic : 0;
}

void StepReport::require_fit() const {
  if (fits()) return;
  constexpr size_t kMost = 3;
  std::vector<std::string> most;
  for (const auto& [module, count] : bytes_by_module(*this)) {
    if (most.size() < kMost) most.push_back(fmt::format("{} {}", module, format_bytes(static_cast<uint64_t>(count))));
  }
  if (refused) {
    Error error = *refused;
    if (error.path().empty() && peak) error.at(join(most, ", ") + " (estimated)");
    throw error;
  }
  throw Error(ErrorCode::out_of_memory, fmt::format("the {} doesn't fit a device of {}", name, chip.name))
      .at(join(most, ", "))
      .got(format_bytes(static_cast<uint64_t>(bytes())))
      .expected(fmt::format("at most {}", format_bytes(static_cast<uint64_t>(chip.memory_bytes))))
      .hint(
          "split over more devices, use a smaller batch or more accumulation, or recompute more in the backward pass");
}

std::vector<std::pair<std::string, int64_t>> bytes_by_module(const StepReport& report) {
  std::map<std::string, int64_t> sums;
  for (const auto& [group, count] : report.arguments) sums[group] += count;
  if (report.peak) {
    for (const LiveBuffer& b : report.peak->buffers) {
      const std::string_view module = module_of(b.op);
      sums[module.empty() ? "(unnamed)" : std::string(module)] += b.bytes;
    }
  }
  std::vector<std::pair<std::string, int64_t>> out(sums.begin(), sums.end());
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return out;
}

ProgramReporter::ProgramReporter(std::string_view target, AotOptions options)
    : options_(std::move(options)), target_(AotTarget::parse(target, options_.chips)) {
  chip_ = target_.name == "cpu" ? cpu_chip(target_.num_devices) : options_.chips.find(target_.name);
  // Where nothing compiles, what can be said without a compiler is all there is.
  if (aot_way(target_.platform, chip_.setup) == AotWay::none) options_.analytic = true;
  if (options_.analytic && options_.save) {
    throw Error(ErrorCode::unsupported, "there is no program to save where nothing is compiled").at("--save");
  }
  if (!options_.analytic) machine_ = AotMachine::open(target_, options_.chips);
}

int64_t ProgramReporter::num_devices() const { return machine_ ? machine_->num_devices() : target_.num_devices; }

KernelList ProgramReporter::kernels() const {
  if (machine_) return machine_->kernels();
  constexpr int kUnknown = 0;
  return kernels_of(target_.platform, chip_.setup, kUnknown);
}

StepReport ProgramReporter::report(StepReport start, const Mesh& mesh, const Program& program) const {
  target_.check_outer(mesh);
  start.chip = chip_;
  start.mesh = mesh;
  start.kernels = program.kernels;
  start.program_hash = sha256_hex(program.text);
  start.arguments = bytes_of_arguments(program, mesh);
  start.host_bytes = host_argument_bytes(program, mesh);
  if (machine_) {
    try {
      start.compiled = machine_->compile(mesh, program, options_.save);
    } catch (const Error& e) {
      if (e.code() != ErrorCode::out_of_memory) throw;
      start.refused = e;
    }
  }
  read_optimized(start);
  if (start.compiled && !options_.allow_replication) require_kept_split(start.compiled->warnings);
  return start;
}

void ProgramReporter::read_optimized(StepReport& report) const {
  StepWork work;
  work.flops = share(report.flops, report.mesh.num_devices());
  if (report.compiled && report.compiled->optimized) {
    const bool slices = target_.num_slices > 1;
    const pjrt::HloModule& module = *report.compiled->optimized;
    report.collectives = count_collectives(module, report.mesh, target_.linked_devices, slices);
    report.peak = find_peak(module);
    report.memory_traffic = count_memory_traffic(module);
    if (target_.platform == "cpu") {
      report.workspace = cpu_workspace(module, report.mesh.num_devices(), num_processors());
    }
    work.link_bytes = report.collectives->link_bytes();
    work.network_bytes = report.collectives->network_bytes();
  }
  // Without a program: what a step reads and writes at least once.
  work.memory_bytes = report.compiled ? report.memory_traffic : static_cast<double>(report.bytes());
  report.bound = bound_step(work, chip_, target_.num_links());
}

StepReport begin_train_report(const Trainer::Config& config, const TracedStep& traced) {
  StepReport start;
  start.flops = traced.step.flops;
  const BatchTypes batch = config.data->batch_types();
  if (const auto ids = batch.find("input_ids"); ids != batch.end()) {
    start.tokens = static_cast<double>(num_elements(ids->second.dims));
  }
  return start;
}

StepReport compile_train_step(const Trainer::Config& config, std::string_view target, const AotOptions& options) {
  const ProgramReporter reporter(target, options);
  PeakMemory saved;
  const PassObserver observe = [&](const Pass* pass, const Graph& graph) {
    if (pass == &passes().back()) saved = estimate_saved(graph, reporter.num_devices());
  };
  const TracedStep traced = trace_train_step(config, reporter.num_devices(), reporter.kernels(), observe);
  StepReport start = begin_train_report(config, traced);
  start.model_flops.add(count_forward_flops(config, reporter.num_devices()), 3);
  StepReport out = reporter.report(std::move(start), traced.mesh, traced.step.program);
  if (out.refused) out.peak = std::move(saved);
  return out;
}

}  // namespace tenon
