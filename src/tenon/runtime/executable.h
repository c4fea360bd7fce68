// Compiling a program for a mesh and running it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tenon/base/mesh.h"
#include "tenon/pjrt/executable.h"
#include "tenon/runtime/array.h"
#include "tenon/runtime/backend.h"
#include "tenon/runtime/compile_cache.h"
#include "tenon/runtime/program.h"

namespace tenon {

class Executable {
 public:
  // Starts the program and returns its results, which may still be on the way. Donated arguments are gone afterwards,
  // in every copy. Throws `invalid_argument`, `shape_mismatch` or `mesh_mismatch` naming the argument that doesn't fit,
  // before anything runs; `plugin` with the plugin's words. Errors of the run come when a result is read.
  // Call from one thread at a time.
  std::vector<Array> operator()(std::span<const Array> args) const;

  const Program& program() const { return program_; }
  const Mesh& mesh() const { return mesh_; }
  // Bytes on one device.
  const pjrt::MemoryStats& memory() const { return memory_; }
  // What the compiler warned of; none when the program came from the cache.
  const std::vector<pjrt::CompilerWarning>& warnings() const { return executable_.program().warnings(); }
  // Time to compile, or to load from the cache.
  double compile_seconds() const { return compile_seconds_; }
  bool cache_hit() const { return cache_hit_; }

 private:
  friend Executable compile(std::shared_ptr<const Backend>, const Mesh&, Program, const CompileCache*);
  Executable(std::shared_ptr<const Backend> backend, const Mesh& mesh, Program program, pjrt::Executable executable);
  void check_outputs() const;
  void check_arguments(std::span<const Array> args) const;
  void check_donated_once(std::span<const Array> args) const;

  std::shared_ptr<const Backend> backend_;
  Mesh mesh_;
  Program program_;
  std::vector<PartitionSpec> arg_specs_;  // normalized
  pjrt::Executable executable_;
  pjrt::MemoryStats memory_;
  double compile_seconds_ = 0;
  bool cache_hit_ = false;
};

// Compiles for the first devices of `backend`, or loads what `cache` (may be null) holds. A damaged or useless entry is
// dropped and compiled anew; a cache that can't be written is ignored. Throws as validate(program, mesh) and
// check_largest do, and `compile` with the compiler's words and the module paths of the ops they are about.
Executable compile(std::shared_ptr<const Backend> backend, const Mesh& mesh, Program program,
                   const CompileCache* cache = nullptr);

}  // namespace tenon
