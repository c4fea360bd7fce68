// Compiling for machines that aren't here.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/mesh.h"
#include "tenon/pjrt/hlo_module.h"
#include "tenon/pjrt/topology.h"
#include "tenon/runtime/backend.h"
#include "tenon/runtime/chips.h"
#include "tenon/runtime/program.h"
#include "tenon/runtime/saved_program.h"

namespace tenon {

// A machine by name. TPUs: generation and chips ("v5p:2x2x1", "v6e:4x4", "tpu7x:2x2x1"), and how many such slices
// ("v5p:8x8x4*2"). Other chips: kind, hosts and devices of each ("h100:32x8"), or their number ("h100:4"; above a
// host's a multiple of it). "cpu:8": virtual devices of this machine.
struct AotTarget {
  std::string platform;  // "tpu", "cuda", "rocm", "cpu", or that of a chip's description
  std::string name;      // the chip: "v5p", "h100"; "cpu"
  std::string shape;     // TPUs: "2x2x1"; others: partitions x hosts x devices, "1x1x4"
  int64_t num_slices = 1;
  int64_t num_devices = 0;
  int64_t host_devices = 0;  // of each host; 0 for TPUs
  // How many, one behind another, the chip's links join: those of a host or a slice.
  int64_t linked_devices = 0;
  bool operator==(const AotTarget&) const = default;

  // Throws `invalid_argument`, or `unknown_name` with the chips there are.
  static AotTarget parse(std::string_view text, const ChipTable& chips = ChipTable::builtin());
  // That the parts into which the mesh's outer part cuts the machine's devices are whole slices or nodes, or lie within
  // one. Throws `mesh_mismatch`.
  void check_outer(const Mesh& mesh) const;
  // Links of one device within a slice or host: two along each side of three or more, one along a side of two; of
  // chips that aren't TPUs 1.
  int64_t num_links() const;
};

struct AotResult {
  pjrt::MemoryStats memory;  // bytes on one device
  double seconds = 0;        // time to compile
  std::string device_kind;
  std::vector<pjrt::CompilerWarning> warnings;
  // The optimized program of one device; none where the plugin doesn't show it.
  std::optional<pjrt::HloModule> optimized;
  // The compiler's own counts ("flops", "bytes accessed", …); empty where the plugin has none. FLOPs may count a loop's
  // body once, and times may be negative: check before showing.
  std::map<std::string, double> cost;
  // The compiled program, where it was asked for.
  std::optional<SavedProgram> saved;
};

// A described machine, ready to compile for.
class AotMachine {
 public:
  // Finds and loads the plugin of the target's chip, one of `chips`. Throws `plugin` with what to install, or the
  // plugin's words; `unsupported` for a chip that is compiled for only where it is; `mesh_mismatch` when it is compiled
  // for on devices of this machine, of which there is another number.
  static AotMachine open(const AotTarget& target, const ChipTable& chips = ChipTable::builtin());

  // Devices that are here, all of them, as a machine to compile for.
  static AotMachine of(std::shared_ptr<const Backend> backend);

  const pjrt::Plugin& plugin() const;
  int64_t num_devices() const;
  const std::string& device_kind() const;
  // Of NVIDIA GPUs: 90 for 9.0; 0 when not known.
  int compute_capability() const;
  // Own kernels that programs for it may call.
  KernelList kernels() const;
  // What a program compiled for it is kept under. Throws as compile does before it compiles.
  SavedProgram::Key key(const Mesh& mesh, const Program& program) const;
  // The mesh must have exactly num_devices(). Throws as validate(program, mesh) and check_largest do, and `compile`
  // with the compiler's words and the module paths of the ops they are about. A program that isn't ours may crash the
  // process: compile such in a child. `save` keeps the compiled program in the result.
  AotResult compile(const Mesh& mesh, const Program& program, bool save = false) const;

 private:
  AotMachine(AotTarget target, DeviceSetup setup) : target_(std::move(target)), setup_(std::move(setup)) {}
  pjrt::CompileOptions options(const Mesh& mesh, const Program& program) const;
  AotTarget target_;
  DeviceSetup setup_;
  std::shared_ptr<const pjrt::Topology> topology_;
  std::shared_ptr<const Backend> backend_;  // of devices that are here, in place of a topology
};

// Opens the machine and compiles for it.
AotResult compile_aot(const AotTarget& target, const Mesh& mesh, const Program& program);

}  // namespace tenon
