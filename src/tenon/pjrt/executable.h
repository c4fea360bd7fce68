// Compiled programs: what the compiler says about one, and running it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/result.h"
#include "tenon/base/shape.h"
#include "tenon/pjrt/buffer.h"
#include "tenon/pjrt/compiler_log.h"
#include "tenon/pjrt/hlo_module.h"
#include "tenon/pjrt/plugin.h"

struct PJRT_Executable;
struct PJRT_LoadedExecutable;

namespace tenon::pjrt {

// Bytes on one device, as the compiler counts them.
struct MemoryStats {
  int64_t argument = 0, output = 0;
  int64_t alias = 0;  // of the outputs, what lies in donated arguments
  int64_t temporary = 0;
  int64_t generated_code = 0;
  int64_t peak = 0;                                                // most at any one time; 0 where a plugin doesn't say
  int64_t host_argument = 0, host_output = 0, host_temporary = 0;  // in host memory, for offload
  // What a device must have: arguments, results not in their place, temporaries and code.
  int64_t total() const { return argument + output - alias + temporary + generated_code; }
  bool operator==(const MemoryStats&) const = default;
};

// A compiled program that isn't loaded onto devices. Move-only.
class CompiledProgram {
 public:
  CompiledProgram(std::shared_ptr<const Plugin> plugin, PJRT_Executable* executable);
  ~CompiledProgram();
  CompiledProgram(CompiledProgram&& other) noexcept;
  CompiledProgram& operator=(CompiledProgram&& other) noexcept;

  // What the compiler warned of; none when the program wasn't compiled but loaded.
  const std::vector<CompilerWarning>& warnings() const { return warnings_; }
  void set_warnings(std::vector<CompilerWarning> warnings) { warnings_ = std::move(warnings); }
  Result<MemoryStats> memory_stats() const;
  // Types of the outputs as one device holds them.
  Result<std::vector<TensorType>> output_types() const;
  Result<int64_t> num_outputs() const;
  // The compiler's own counts ("flops", "bytes accessed", …). Not every plugin has them: `unsupported`.
  Result<std::map<std::string, double>> cost_analysis() const;
  // What the compiler made of the program for one device. Not every plugin shows it: `unsupported`.
  Result<HloModule> optimized_program() const;
  // Bytes that Client::deserialize of the very same plugin takes back.
  Result<std::string> serialize() const;

 private:
  std::shared_ptr<const Plugin> plugin_;
  PJRT_Executable* executable_;
  std::vector<CompilerWarning> warnings_;
};

// A compiled program on its devices. Move-only; keeps its client alive.
class Executable {
 public:
  Executable(std::shared_ptr<const Client> client, PJRT_LoadedExecutable* loaded, CompiledProgram program);
  ~Executable();
  Executable(Executable&& other) noexcept;
  Executable& operator=(Executable&& other) noexcept;

  const CompiledProgram& program() const { return program_; }
  int64_t num_outputs() const { return num_outputs_; }
  int64_t num_devices() const { return num_devices_; }

  // Starts the program on all its devices at once: `arguments[d][i]` is argument i on device d, the result
  // `[d][i]` output i there. Returns before the work is done; outputs carry errors of the run. Arguments the program
  // aliases to outputs are consumed. Call from one thread per client, so that collectives meet in the same order.
  Result<std::vector<std::vector<Buffer>>> execute(std::span<const std::vector<const Buffer*>> arguments) const;

 private:
  friend class Client;
  Status read_sizes();
  std::shared_ptr<const Client> client_;
  PJRT_LoadedExecutable* loaded_;
  CompiledProgram program_;
  int64_t num_outputs_ = 0, num_devices_ = 0;
};

}  // namespace tenon::pjrt
