#include "tenon/trainer/parity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/base/json.h"
#include "tenon/base/text.h"
#include "tenon/config/validate.h"
#include "tenon/trainer/parity_limits.h"
#include "tenon/trainer/trace_step.h"
#include "tenon/trainer/train_session.h"

namespace tenon {
namespace {

constexpr std::string_view kAccumulation = "accumulation", kOuter = "outer.";

std::string name_of(const Mesh& mesh, const std::optional<int64_t>& accumulation) {
  const std::string axes = to_string(mesh);
  return accumulation ? fmt::format("{},{}={}", axes, kAccumulation, *accumulation) : axes;
}

// A mesh of at most `num_devices` devices; -1 takes what is left.
Mesh resolve(const ParityMesh& wanted, int64_t num_devices) {
  const bool open = std::find(wanted.sizes.begin(), wanted.sizes.end(), -1) != wanted.sizes.end();
  const Mesh mesh = open ? Mesh::resolve(wanted.sizes, num_devices, wanted.outer) : Mesh(wanted.sizes, wanted.outer);
  if (mesh.num_devices() <= num_devices) return mesh;
  throw Error(ErrorCode::mesh_mismatch, "the mesh has more devices than there are")
      .at("--mesh")
      .got(fmt::format("{} = {} devices", to_string(mesh), mesh.num_devices()))
      .expected(fmt::format("at most {}", num_devices))
      .hint(fmt::format("choose --platform cpu:{}", mesh.num_devices()));
}

std::vector<std::string> names_in_meshes() {
  std::vector<std::string> out(kMeshAxes.begin(), kMeshAxes.end());
  out.emplace_back(kAccumulation);
  for (const std::string_view axis : kMeshAxes) out.push_back(fmt::format("{}{}", kOuter, axis));
  return out;
}

// What `name` sets; null where it names nothing.
int64_t* size_named(ParityMesh& mesh, std::string_view name) {
  if (name == kAccumulation) return &mesh.accumulation.emplace();
  const bool outer = name.starts_with(kOuter);
  const auto* axis = std::find(kMeshAxes.begin(), kMeshAxes.end(), outer ? name.substr(kOuter.size()) : name);
  if (axis == kMeshAxes.end()) return nullptr;
  return &(outer ? mesh.outer : mesh.sizes)[static_cast<size_t>(axis - kMeshAxes.begin())];
}

struct Trained {
  std::vector<std::pair<std::string, Literal>> weights;
  std::vector<double> losses;
};

class ParityCheck {
 public:
  ParityCheck(const Trainer::Config& config, std::shared_ptr<const Backend> backend, const ParityOptions& options)
      : trainer_(config), backend_(std::move(backend)), options_(options) {}

  // Throws what tracing on the mesh does.
  void trace(const Mesh& mesh, const std::optional<int64_t>& accumulation) const {
    trace_train_step(config_on(mesh, accumulation), mesh.num_devices(), backend_->kernels());
  }

  Trained train(const Mesh& mesh, const std::optional<int64_t>& accumulation) const {
    const Trainer::Config config = config_on(mesh, accumulation);
    const StepSettings step = step_settings(config, mesh.num_devices(), backend_->kernels());
    TrainSession session(trainer_.model(), trainer_.learner(), {backend_, step, config.seed, options_.cache});
    session.initialize();
    Trained out;
    for (auto& array : session.export_state()) {
      if (!array.first.starts_with(kLearnerPrefix)) out.weights.push_back(std::move(array));
    }
    const auto& names = session.metric_names();
    const auto loss = std::find(names.begin(), names.end(), "loss") - names.begin();
    for (int64_t i = 0; i < options_.steps; ++i) {
      out.losses.push_back(session.train_step(i, trainer_.data().batch(i)).to_literal().as_double(loss));
    }
    return out;
  }

 private:
  Trainer::Config config_on(const Mesh& mesh, const std::optional<int64_t>& accumulation) const {
    Trainer::Config config = trainer_.config();
    config.mesh = MeshConfig::of(mesh);
    config.accumulation = accumulation.value_or(config.accumulation);
    return config;
  }

  Trainer trainer_;
  std::shared_ptr<const Backend> backend_;
  const ParityOptions& options_;
};

double relative_difference(double got, double want) {
  if (got == want) return 0;
  const double difference = std::abs(got - want) / std::abs(want);
  return std::isfinite(difference) ? difference : std::numeric_limits<double>::infinity();
}

ParityResult compare(std::string mesh, const Trained& got, const Trained& want) {
  ParityResult out{std::move(mesh), {}, got.losses, {}, 0};
  for (size_t i = 0; i < want.weights.size(); ++i) {
    if (i >= got.weights.size() || got.weights[i] != want.weights[i]) {
      out.other_weights.push_back(want.weights[i].first);
    }
  }
  for (size_t i = 0; i < want.losses.size(); ++i) {
    out.differences.push_back(relative_difference(got.losses[i], want.losses[i]));
    out.largest = std::max(out.largest, out.differences.back());
  }
  return out;
}

}  // namespace

Result<ParityMesh> parse_parity_mesh(std::string_view text) {
  ParityMesh out;
  std::vector<std::string> seen;
  for (const std::string& part : split(text, ',')) {
    const size_t at = part.find('=');
    const std::string name = part.substr(0, at);
    int64_t* target = size_named(out, name);
    if (target == nullptr) {
      const std::vector<std::string> known = names_in_meshes();
      return Error(ErrorCode::unknown_name, "no mesh axis is called so")
          .got(quote_text(name))
          .expected(join(known, ", "))
          .hint(did_you_mean(name, known));
    }
    const Result<int64_t> size = parse_int(at == std::string::npos ? "" : std::string_view(part).substr(at + 1));
    const bool is_axis = std::find(kMeshAxes.begin(), kMeshAxes.end(), name) != kMeshAxes.end();
    const bool fits = size.ok() && (*size >= 1 || (*size == -1 && is_axis));
    if (!fits || std::find(seen.begin(), seen.end(), name) != seen.end()) {
      return Error(ErrorCode::invalid_argument, "not a mesh")
          .got(quote_text(text))
          .expected("axes with their sizes, each once, as fsdp=4,model=2");
    }
    seen.push_back(name);
    *target = *size;
  }
  return out;
}

bool ParityReport::agrees() const {
  return std::all_of(results.begin(), results.end(), [&](const ParityResult& r) { return r.agrees(tolerance); });
}

ParityReport check_parity(const Trainer::Config& config, std::shared_ptr<const Backend> backend,
                          const ParityOptions& options, const std::function<void(const ParityResult&)>& progress) {
  validate(config);
  std::vector<Mesh> meshes;
  for (const ParityMesh& mesh : options.meshes) meshes.push_back(resolve(mesh, backend->num_devices()));
  if (options.steps < 1) {
    throw Error(ErrorCode::invalid_argument, "no steps to compare").at("--steps").got(std::to_string(options.steps));
  }
  const ParityCheck check(config, std::move(backend), options);
  const auto add = [&](ParityResult result) {
    if (progress) progress(result);
    return result;
  };
  const auto on_each = [&](const auto& act) {
    for (size_t i = 0; i < meshes.size(); ++i) {
      const std::optional<int64_t>& accumulation = options.meshes[i].accumulation;
      const std::string name = name_of(meshes[i], accumulation);
      try {
        act(name, meshes[i], accumulation);
      } catch (Error& e) {
        e.prefix(fmt::format("mesh {}", name));
        throw;
      }
    }
  };
  on_each([&](const std::string&, const Mesh& mesh, const auto& accumulation) { check.trace(mesh, accumulation); });
  const Trained one = check.train(Mesh(), {});
  ParityReport report{options.tolerance, one.losses, {}, parity_limits(config)};
  add(compare(to_string(Mesh()), one, one));
  on_each([&](const std::string& name, const Mesh& mesh, const auto& accumulation) {
    report.results.push_back(add(compare(name, check.train(mesh, accumulation), one)));
  });
  return report;
}

std::string format_parity(const ParityReport& report) {
  size_t width = 4;
  for (const ParityResult& r : report.results) width = std::max(width, r.mesh.size());
  std::string out = fmt::format("{:<{}}  {:>17}  {:>12}  {:>9}  {}\n", "mesh", width, "initial weights", "last loss",
                                "largest difference", "");
  out += fmt::format("{:<{}}  {:>17}  {:>12.7f}\n", "1", width, "", report.losses.back());
  for (const ParityResult& r : report.results) {
    const std::string weights =
        r.other_weights.empty() ? "the same bits" : fmt::format("{} arrays differ", r.other_weights.size());
    out += fmt::format("{:<{}}  {:>17}  {:>12.7f}  {:>18.2e}  {}\n", r.mesh, width, weights, r.losses.back(), r.largest,
                       r.agrees(report.tolerance) ? "agrees" : "DIFFERS");
  }
  if (!report.agrees()) {
    for (const std::string& limit : report.limits) out += fmt::format("may differ by {}\n", limit);
  }
  return out;
}

std::string parity_json(const ParityReport& report) {
  const auto list = [](const auto& values) { return Json::List(values.begin(), values.end()); };
  Json::List meshes;
  for (const ParityResult& r : report.results) {
    meshes.push_back(Json::Object{{"mesh", r.mesh},
                                  {"agrees", r.agrees(report.tolerance)},
                                  {"same_weights", r.other_weights.empty()},
                                  {"other_weights", list(r.other_weights)},
                                  {"losses", list(r.losses)},
                                  {"differences", list(r.differences)},
                                  {"largest", r.largest}});
  }
  const Json out = Json::Object{{"agrees", report.agrees()},
                                {"tolerance", report.tolerance},
                                {"losses", list(report.losses)},
                                {"limits", list(report.limits)},
                                {"meshes", std::move(meshes)}};
  return out.text({.indent = 2}) + "\n";
}

}  // namespace tenon
