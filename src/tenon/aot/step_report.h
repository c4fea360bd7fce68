// What the compiler, and our own reading of its program, say of a program on a machine that isn't here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tenon/aot/bound.h"
#include "tenon/aot/collectives.h"
#include "tenon/aot/liveness.h"
#include "tenon/runtime/aot.h"
#include "tenon/trainer/trace_step.h"

namespace tenon {

// Arguments of one kind on one device: "parameters", "optimizer", "cache", "inputs".
using ArgumentBytes = std::map<std::string, int64_t>;

struct StepReport {
  std::string name = "train step";
  std::string program_hash;  // sha256 of its text
  Mesh mesh;
  Chip chip;
  std::vector<KernelChoice> kernels;
  // Of one step over all devices: of the program, and what the model needs (three forward passes for training).
  FlopCount flops, model_flops;
  double tokens = 0;        // of one step
  ArgumentBytes arguments;  // on one device, as the program declares them
  int64_t host_bytes = 0;   // of the state, in host memory for each device

  // None: nothing was compiled, by request or because the compiler itself found too little memory (`refused`).
  std::optional<AotResult> compiled;
  std::optional<Error> refused;
  // Read from the optimized program; none where the plugin doesn't show it.
  std::optional<CollectiveReport> collectives;
  // Of a program that the compiler refused: what estimate_saved says of it.
  std::optional<PeakMemory> peak;
  double memory_traffic = 0;  // bytes on one device
  int64_t workspace = 0;      // bytes on one device beside the compiler's account, on the CPU alone (cpu_workspace)
  StepBound bound;

  // On one device: the compiler's total, and the workspace; without a compiled program, the arguments alone.
  int64_t bytes() const;
  bool fits() const;
  // Of the products among model_flops, attention by all pairs (which the bound doesn't count: it may be above 1) and by
  // those the mask leaves, at the bound; 0 where that isn't known.
  double mfu() const;
  double mfu_unmasked() const;
  // FLOPs a byte of main memory, on one device; 0 where the bytes aren't known.
  double intensity() const;
  // Throws `out_of_memory` when it doesn't fit, with the modules that hold most, estimated if the compiler refused;
  // then with its own words.
  void require_fit() const;
};

// The arguments and what is live at the peak, by module, most first.
std::vector<std::pair<std::string, int64_t>> bytes_by_module(const StepReport& report);

struct AotOptions {
  ChipTable chips = ChipTable::builtin();
  // Computes what can be known without a compiler; so it is for chips that nothing compiles for (AotWay::none).
  bool analytic = false;
  // Keeps the compiled program in the report. Throws `unsupported` where there is none.
  bool save = false;
  // Takes a program for which the compiler gives up on keeping arrays split (require_kept_split).
  bool allow_replication = false;
};

// Compiles the very step that training by `config` runs, for a target such as "v5p:2x2x1" or "h100:4"; reads no data.
// Throws what AotTarget::parse throws for the target, trace_train_step for the config, AotMachine for what the plugin
// refuses, and require_kept_split.
StepReport compile_train_step(const Trainer::Config& config, std::string_view target, const AotOptions& options = {});

// What is known of a train step once it's traced: FLOPs and tokens; of the model's FLOPs nothing.
StepReport begin_train_report(const Trainer::Config& config, const TracedStep& traced);

// What programs are compiled with, one after the other.
class ProgramReporter {
 public:
  // Opens the machine, unless the report is analytic. Throws as compile_train_step.
  ProgramReporter(std::string_view target, AotOptions options);
  int64_t num_devices() const;
  KernelList kernels() const;
  const AotTarget& target() const { return target_; }
  const Chip& chip() const { return chip_; }
  // Compiles and reads the rest of a report, of which names, FLOPs and tokens are given.
  StepReport report(StepReport start, const Mesh& mesh, const Program& program) const;

 private:
  void read_optimized(StepReport& report) const;
  AotOptions options_;
  AotTarget target_;
  Chip chip_;
  std::optional<AotMachine> machine_;
};

// Lines for people, without one at the end; and JSON, documented in docs/aot.md.
std::string format_report(const StepReport& report);
std::string report_json(const StepReport& report);
// Of one report its JSON; of several, {name: JSON}.
std::string reports_json(const std::vector<StepReport>& reports);

}  // namespace tenon
