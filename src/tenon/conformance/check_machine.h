// What the programs of a check are compiled for: devices of this machine, or a machine that a plugin is told of.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenon/runtime/aot.h"
#include "tenon/runtime/jit.h"

namespace tenon {

// A plugin to check. Texts are "" where nothing is said.
struct CheckSubject {
  std::string plugin;                  // its file; "": the device's, or the platform's
  std::string platform;                // one that Tenon knows
  std::shared_ptr<const Chip> device;  // its description; may be null
  std::string target;                  // compile for this machine alone, as "v5p:2x2x1"

  // For a plugin that is given by "cpu", "cuda", "tpu" or "rocm" or by its file. Throws what find_plugin gives for a
  // platform.
  static CheckSubject parse(const std::string& plugin_or_platform);
  // Throws `plugin`.
  std::shared_ptr<const pjrt::Plugin> load() const;
};

class CheckMachine {
 public:
  // Loads the plugin and makes a client. Throws `plugin`, with its words.
  static CheckMachine open_devices(const CheckSubject& subject);
  // Describes a machine to the plugin: the target, else one of four devices of the device or platform. Throws
  // `unsupported` when there is none to describe, and what AotMachine::open throws.
  static CheckMachine open_described(const CheckSubject& subject);

  // Whether programs can be run, and not only compiled.
  bool runs() const { return backend_ != nullptr; }
  const std::shared_ptr<const Backend>& backend() const { return backend_; }
  const pjrt::Plugin& plugin() const;
  int64_t num_devices() const;
  const std::string& device_kind() const;
  KernelList kernels() const;
  // Whether programs can be for one device: of a described machine all are used, unless the plugin knows one of one
  // device too.
  bool has_single() const { return runs() || num_devices() == 1 || single_.has_value(); }
  // What a program is compiled for that needs one device: one where there is that, else all.
  Mesh least_mesh() const;

  // Compiles for so many devices, and runs it where it can: the results, or none. Throws what the plugin says against
  // it.
  std::optional<std::vector<Literal>> run(const Mesh& mesh, const Program& program,
                                          const std::vector<Literal>& args) const;
  // For all its devices, which `mesh` must have. Throws as AotMachine::compile.
  AotResult compile(const Mesh& mesh, const Program& program, bool save = false) const;

 private:
  CheckMachine() = default;
  std::shared_ptr<const Backend> backend_;  // null for a described machine
  std::optional<AotMachine> machine_, single_;
};

}  // namespace tenon
