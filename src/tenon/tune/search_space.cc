#include "tenon/tune/search_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "tenon/base/text.h"
#include "tenon/config/value.h"
#include "tenon/experiments/resolve.h"
#include "tenon/kernels/kernels.h"

namespace tenon {
namespace {

constexpr int64_t kMostLinked = 16;  // devices along model or seq
constexpr size_t kMostModifiers = 8;
constexpr int64_t kMostExamples = std::numeric_limits<int32_t>::max();

[[noreturn]] void throw_unknown(const char* option, std::string_view name, const std::vector<std::string>& known) {
  throw Error(ErrorCode::unknown_name, "there is no such choice")
      .at(option)
      .got(quote_text(name))
      .expected(join(known, ", "))
      .hint(did_you_mean(name, known));
}

void check_names(const char* option, const std::vector<std::string>& names, const std::vector<std::string>& known) {
  if (names.empty()) throw Error(ErrorCode::invalid_argument, "nothing to choose from").at(option);
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) == known.end()) throw_unknown(option, name, known);
  }
}

std::vector<std::string> remat_names() {
  std::vector<std::string> out;
  for (const RematChoice& choice : remat_choices()) out.emplace_back(choice.name);
  return out;
}

std::vector<std::string> schedule_names() {
  std::vector<std::string> out;
  for (const EnumName& entry : tenon_enum_names(PipelineSchedule{})) out.emplace_back(entry.name);
  return out;
}

void check_space(const SearchSpace& space) {
  check_names("--axes", space.axes, {kMeshAxes.begin(), kMeshAxes.end()});
  if (!space.remat.empty()) check_names("--remat", space.remat, remat_names());
  check_names("--kernels", space.kernels, {"on", "off"});
  check_names("--schedules", space.schedules, schedule_names());
  for (const int64_t n : space.microbatches) {
    if (n >= 1) continue;
    throw Error(ErrorCode::invalid_argument, "not a number of microbatches")
        .at("--microbatches")
        .got(std::to_string(n))
        .expected("at least 1");
  }
  if (space.also.size() > kMostModifiers) {
    throw Error(ErrorCode::invalid_argument, "too many modifiers: every set of them is tried")
        .at("--also")
        .got(std::to_string(space.also.size()))
        .expected(fmt::format("at most {}", kMostModifiers));
  }
  for (const std::string& modifier : space.also) parse_modifier(modifier, "--also");
}

// All ways to write `devices` as a product of sizes of the axes from `place` on.
void add_meshes(const std::vector<bool>& searched, int64_t most_linked, int64_t devices, size_t place,
                Mesh::Sizes& sizes, std::vector<Mesh>& out) {
  if (place == sizes.size()) {
    if (devices == 1) out.emplace_back(sizes);
    return;
  }
  const bool linked = kMeshAxes[place] == "model" || kMeshAxes[place] == "seq";
  const int64_t most = searched[place] ? (linked ? most_linked : devices) : 1;
  for (int64_t size = 1; size <= std::min(most, devices); ++size) {
    if (devices % size != 0) continue;
    sizes[place] = size;
    add_meshes(searched, most_linked, devices / size, place + 1, sizes, out);
  }
}

std::vector<Mesh> meshes_of(const SearchSpace& space, const AotTarget& target) {
  std::vector<bool> searched;
  for (const std::string_view axis : kMeshAxes) {
    searched.push_back(std::find(space.axes.begin(), space.axes.end(), axis) != space.axes.end());
  }
  Mesh::Sizes sizes{1, 1, 1, 1, 1, 1};
  std::vector<Mesh> out;
  add_meshes(searched, std::min(target.linked_devices, kMostLinked), target.num_devices, 0, sizes, out);
  if (!out.empty()) return out;
  throw Error(ErrorCode::mesh_mismatch, "no mesh of these axes has as many devices as the target")
      .at("--axes")
      .got(join(space.axes, ", "))
      .expected(fmt::format("{} devices", target.num_devices));
}

std::vector<std::string> remat_of(const SearchSpace& space, const AotTarget& target) {
  if (!space.remat.empty()) return space.remat;
  std::vector<std::string> out = {"as_is", "nothing", "dots"};
  if (target.platform != "cpu") out.insert(out.end(), {"attention", "dots_offload"});
  return out;
}

std::vector<int64_t> microbatches_of(const SearchSpace& space, int64_t global_batch) {
  if (!space.microbatches.empty()) return space.microbatches;
  std::vector<int64_t> out;
  for (int64_t n = 1; n <= global_batch; n *= 2) out.push_back(n);  // a batch is below 2^31
  return out;
}

// The ways to cut a batch on the mesh; nothing else of them is set.
std::vector<Candidate> divisions(const Mesh& mesh, const SearchSpace& space, int64_t global_batch) {
  std::vector<Candidate> out;
  for (const int64_t microbatches : microbatches_of(space, global_batch)) {
    for (const EnumName& entry : tenon_enum_names(PipelineSchedule{})) {
      const auto schedule = static_cast<PipelineSchedule>(entry.value);
      const auto& chosen = space.schedules;
      const bool tried = mesh.size("pipeline") > 1 ? std::find(chosen.begin(), chosen.end(), entry.name) != chosen.end()
                                                   : schedule == PipelineSchedule::gpipe;
      if (tried) out.push_back({.mesh = mesh, .microbatches = microbatches, .schedule = schedule});
    }
  }
  return out;
}

// Every subset of the modifiers, the empty one first.
std::vector<std::vector<std::string>> subsets(const std::vector<std::string>& also) {
  std::vector<std::vector<std::string>> out{{}};
  for (const std::string& modifier : also) {
    const size_t count = out.size();
    for (size_t i = 0; i < count; ++i) {
      out.push_back(out[i]);
      out.back().push_back(modifier);
    }
  }
  return out;
}

// "NAME{a = 1}" as `{type = "NAME", a = 1}`.
std::string as_table(const std::string& modifier) {
  const size_t brace = std::min(modifier.find('{'), modifier.size());
  const std::string type = "{type = " + quote(modifier.substr(0, brace));
  if (brace == modifier.size()) return type + "}";
  const std::string rest = modifier.substr(brace + 1);
  const bool empty = rest.find_first_not_of(" \t") == rest.find('}');
  return type + (empty ? "}" : ", " + rest);
}

std::string mesh_toml(const Mesh& mesh) {
  std::vector<std::string> axes;
  for (size_t a = 0; a < kMeshAxes.size(); ++a) {
    // `data` has another default than 1.
    if (mesh.sizes()[a] > 1 || kMeshAxes[a] == "data") {
      axes.push_back(fmt::format("{} = {}", kMeshAxes[a], mesh.sizes()[a]));
    }
  }
  return fmt::format("{{type = \"SetMesh\", mesh = {{{}}}}}", join(axes, ", "));
}

}  // namespace

const std::vector<RematChoice>& remat_choices() {
  static const std::vector<RematChoice> choices = {
      {"as_is", ""},
      {"nothing", R"({type = "SetRemat", policy = {type = "SaveNothing"}})"},
      {"dots", R"({type = "SetRemat", policy = {type = "SaveDots"}})"},
      {"everything", R"({type = "SetRemat", policy = {type = "SaveEverything"}})"},
      {"attention",
       R"({type = "SetRemat", policy = {type = "SaveTags", device = ["q_proj", "k_proj", "v_proj", "context", "o_proj"]}})"},
      {"attention_offload",
       R"({type = "SetRemat", policy = {type = "SaveTags", host = ["q_proj", "k_proj", "v_proj", "context", "o_proj"]}})"},
      {"dots_offload",
       R"({type = "SetRemat", policy = {type = "SaveTags", host = ["q_proj", "k_proj", "v_proj", "context", "o_proj", "gate", "up"]}})"},
  };
  return choices;
}

std::string to_string(const Candidate& c) {
  std::string out = to_string(c.mesh);
  if (c.microbatches > 1) out += fmt::format(" x{}", c.microbatches);
  if (c.schedule != PipelineSchedule::gpipe) out += fmt::format(", {}", to_string(c.schedule));
  if (c.remat != "as_is") out += ", " + c.remat;
  if (!c.kernels) out += ", no kernels";
  for (const std::string& modifier : c.also) out += ", " + modifier;
  return out;
}

std::string to_toml(const RuleModifiers& modifiers) { return "[" + join(modifiers, ", ") + "]"; }

RuleModifiers divisions_of(const Candidate& c) {
  const bool piped = c.mesh.size("pipeline") > 1;
  RuleModifiers out{mesh_toml(c.mesh)};
  if (piped) {
    out.push_back(fmt::format("{{type = \"PipelineParallel\", microbatches = {}, schedule = \"{}\"}}", c.microbatches,
                              to_string(c.schedule)));
  }
  out.push_back(fmt::format("{{type = \"AccumulateGradients\", steps = {}}}", piped ? 1 : c.microbatches));
  return out;
}

RuleModifiers modifiers_of(const Candidate& c) {
  RuleModifiers out = divisions_of(c);
  if (c.mesh.size("seq") > 1 && c.mesh.size("pipeline") == 1) out.emplace_back(R"({type = "ContextParallel"})");
  for (const RematChoice& choice : remat_choices()) {
    if (choice.name == c.remat && !choice.modifier.empty()) out.emplace_back(choice.modifier);
  }
  if (!c.kernels) {
    std::vector<std::string> ops;
    for (const std::string& op : kernel_ops()) ops.push_back(quote(op));
    out.push_back(fmt::format("{{type = \"SetField\", path = \"kernels.disable\", value = [{}]}}", join(ops, ", ")));
  }
  for (const std::string& modifier : c.also) out.push_back(as_table(modifier));
  return out;
}

std::vector<Candidate> enumerate(const SearchSpace& space, const AotTarget& target, int64_t global_batch) {
  check_space(space);
  if (global_batch < 1 || global_batch > kMostExamples) {
    throw Error(ErrorCode::invalid_argument, "not a number of examples")
        .at("--global_batch")
        .got(std::to_string(global_batch))
        .expected(fmt::format("1 to {}", kMostExamples));
  }
  std::vector<Candidate> out;
  for (const Mesh& mesh : meshes_of(space, target)) {
    for (const Candidate& divided : divisions(mesh, space, global_batch)) {
      for (const std::string& remat : remat_of(space, target)) {
        for (const std::string& kernels : space.kernels) {
          for (const std::vector<std::string>& also : subsets(space.also)) {
            out.push_back({mesh, remat, divided.microbatches, divided.schedule, kernels == "on", also});
          }
        }
      }
    }
  }
  return out;
}

std::string why_not_divided(const Candidate& c, int64_t global_batch) {
  const int64_t devices = c.mesh.size("data") * c.mesh.size("expert") * c.mesh.size("fsdp");
  if (global_batch % c.microbatches == 0 && global_batch / c.microbatches % devices == 0) return "";
  return fmt::format("{} examples don't divide into {} microbatches over {} devices", global_batch, c.microbatches,
                     devices);
}

}  // namespace tenon
