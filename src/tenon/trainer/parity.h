// Whether meshes change what is learned: the same run on one device and on several.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/mesh.h"
#include "tenon/base/result.h"
#include "tenon/runtime/backend.h"
#include "tenon/runtime/compile_cache.h"
#include "tenon/trainer/trainer.h"

namespace tenon {

// A way to spread a run: over a mesh, and over microbatches (empty: as many as the config says).
struct ParityMesh {
  Mesh::Sizes sizes = Mesh::kOnes;  // in the order of kMeshAxes; one may be -1
  Mesh::Sizes outer = Mesh::kOnes;
  std::optional<int64_t> accumulation = {};
};
// "fsdp=4,model=2", "data=-1,accumulation=4", "fsdp=4,outer.fsdp=2": axes that aren't named have size 1.
Result<ParityMesh> parse_parity_mesh(std::string_view text);

struct ParityOptions {
  std::vector<ParityMesh> meshes;
  int64_t steps = 10;
  double tolerance = 1e-5;  // of the relative difference of losses
  // May be null: everything is compiled anew.
  const CompileCache* cache = nullptr;
};

// What a mesh gave beside one device.
struct ParityResult {
  std::string mesh;                         // "fsdp=4,model=2", with ",accumulation=4" where it was asked for
  std::vector<std::string> other_weights;   // names of initial arrays of the model that aren't the same to the bit
  std::vector<double> losses, differences;  // by step; |loss - that of one device| / |that|, infinite where not finite
  double largest = 0;                       // of the differences
  bool agrees(double tolerance) const { return other_weights.empty() && largest <= tolerance; }
};
struct ParityReport {
  double tolerance = 0;
  std::vector<double> losses;  // of one device
  std::vector<ParityResult> results;
  std::vector<std::string> limits = {};  // parity_limits of the config
  bool agrees() const;
};

// Trains `config` for so many steps on the first device of `backend`, without microbatches of its own but the config's,
// then on each mesh, from the same seed and on the same batches. Its own `mesh` is not looked at. `progress`, unless
// empty, is told of each result as it comes, first that of one device. Before anything runs, throws `mesh_mismatch`
// when a mesh has more devices than there are, or -1 doesn't come out even, and what tracing on a mesh throws; then
// what compiling does.
ParityReport check_parity(const Trainer::Config& config, std::shared_ptr<const Backend> backend,
                          const ParityOptions& options, const std::function<void(const ParityResult&)>& progress = {});

// A table: one row for each mesh. Where one differs, what may be why.
std::string format_parity(const ParityReport& report);
// {"agrees": …, "tolerance": …, "losses": […], "limits": […], "meshes": [{"mesh": …, "same_weights": …, "losses": …,
// …}]}.
std::string parity_json(const ParityReport& report);

}  // namespace tenon
