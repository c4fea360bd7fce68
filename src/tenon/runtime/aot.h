// Compiling for machines that aren't here.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/mesh.h"
#include "tenon/pjrt/topology.h"
#include "tenon/runtime/program.h"

namespace tenon {

// A machine by name. TPUs: generation and chips ("v5p:2x2x1", "v6e:4x4", "tpu7x:2x2x1"). GPUs: kind and number
// ("h100:4"; above 8 a multiple of 8, in hosts of 8).
struct AotTarget {
  std::string platform;  // "tpu" or "cuda"
  std::string name;      // the kind: "v5p", "h100"
  std::string shape;     // TPUs: "2x2x1"; GPUs: partitions x hosts x devices, "1x1x4"
  bool operator==(const AotTarget&) const = default;

  // Throws `invalid_argument` or `unknown_name`.
  static AotTarget parse(std::string_view text);
};

struct AotResult {
  pjrt::MemoryStats memory;  // bytes on one device
  double seconds = 0;        // time to compile
  int64_t num_devices = 0;
  std::string device_kind;
  std::vector<pjrt::CompilerWarning> warnings;
  // How often each kind of instruction is in the optimized program of one device, a loop's body counted once; empty
  // where the plugin doesn't show it.
  std::map<std::string, int64_t> instructions;
  // The compiler's own counts ("flops", "bytes accessed", …); empty where the plugin has none. FLOPs may count a loop's
  // body once, and times may be negative: check before showing.
  std::map<std::string, double> cost;
};

// A described machine, ready to compile for.
class AotMachine {
 public:
  // Finds and loads the platform's plugin. Throws `plugin` with what to install, or the plugin's words.
  static AotMachine open(const AotTarget& target);

  int64_t num_devices() const { return static_cast<int64_t>(topology_.device_ids().size()); }
  const std::string& device_kind() const { return topology_.device_kind(); }
  // Of NVIDIA GPUs: 90 for 9.0; 0 when not known.
  int compute_capability() const { return topology_.compute_capability(); }
  // The mesh must have exactly num_devices(). Throws as validate(program, mesh) does, and `compile` with the compiler's
  // words and the module paths of the ops they are about. A program that isn't ours may crash the process: compile such
  // in a child.
  AotResult compile(const Mesh& mesh, const Program& program) const;

 private:
  explicit AotMachine(pjrt::Topology topology) : topology_(std::move(topology)) {}
  pjrt::Topology topology_;
};

// Opens the machine and compiles for it.
AotResult compile_aot(const AotTarget& target, const Mesh& mesh, const Program& program);

}  // namespace tenon
