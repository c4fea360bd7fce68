// What a search changes of an experiment: all combinations of meshes, remat policies, microbatches and kernels.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/mesh.h"
#include "tenon/nn/transformer/pipeline.h"
#include "tenon/runtime/aot.h"

namespace tenon {

struct SearchSpace {
  // Mesh axes that devices are spread over. Others have size 1.
  std::vector<std::string> axes = {"data", "fsdp", "model"};
  // Names of remat_choices(); empty: as_is, nothing and dots; everywhere except on the CPU also attention
  // and dots_offload.
  std::vector<std::string> remat;
  // Numbers of microbatches; empty: the powers of two up to the global batch.
  std::vector<int64_t> microbatches;
  // Of pipelines: names of PipelineSchedule.
  std::vector<std::string> schedules = {"gpipe", "one_f_one_b"};
  // "on": the platform's kernels as the experiment has them; "off": none.
  std::vector<std::string> kernels = {"on", "off"};
  // Modifiers, "NAME{field = value}", each with and without.
  std::vector<std::string> also;
};

// One combination.
struct Candidate {
  Mesh mesh;
  std::string remat = "as_is";
  int64_t microbatches = 1;  // through a pipeline where the mesh has one, else their gradients are summed
  PipelineSchedule schedule = PipelineSchedule::gpipe;
  bool kernels = true;
  std::vector<std::string> also;
  bool operator==(const Candidate&) const = default;
};
// "fsdp=4,model=2 x2, dots, no kernels, SequenceParallel": x2 for two microbatches. "pipeline=2,data=4 x8,
// one_f_one_b".
std::string to_string(const Candidate& candidate);

// A remat policy by a short name, and what sets it, as TOML: "" for as_is, which leaves what the experiment has.
struct RematChoice {
  std::string_view name, modifier;
};
const std::vector<RematChoice>& remat_choices();

// What a mesh rule does: modifiers, each an inline table of TOML.
using RuleModifiers = std::vector<std::string>;
// "[{type = "SetMesh", …}, …]".
std::string to_toml(const RuleModifiers& modifiers);
// Those for the candidate: what divides it, and the rest. Layers over `pipeline` are PipelineParallel; attention
// over `seq` is ContextParallel, where there is no pipeline.
RuleModifiers divisions_of(const Candidate& candidate);
RuleModifiers modifiers_of(const Candidate& candidate);

// Every combination once: meshes of exactly the target's devices, `model` and `seq` at most as large as what fast links
// join (a host; of TPUs 16). Throws `unknown_name` for an axis, a policy, a schedule or a switch that isn't there,
// `invalid_argument` for numbers below 1 and empty lists, and what parse_modifier throws.
std::vector<Candidate> enumerate(const SearchSpace& space, const AotTarget& target, int64_t global_batch);

// Why a batch of so many examples can't be cut so; "" when it can.
std::string why_not_divided(const Candidate& candidate, int64_t global_batch);

}  // namespace tenon
