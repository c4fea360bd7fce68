// Reports as JSON.
#include "tenon/aot/step_report.h"
#include "tenon/base/json.h"

namespace tenon {
namespace {

Json bytes_json(const StepReport& r) {
  Json::Object out{{"total", r.bytes()}, {"limit", r.chip.memory_bytes}, {"host_arguments", r.host_bytes}};
  if (r.compiled) {
    const pjrt::MemoryStats& m = r.compiled->memory;
    const Json::Object parts{{"arguments", m.argument},  {"results", m.output},
                             {"in_place", m.alias},      {"temporaries", m.temporary},
                             {"code", m.generated_code}, {"workspace", r.workspace},
                             {"peak", m.peak},           {"host_temporaries", m.host_temporary}};
    out.insert(out.end(), parts.begin(), parts.end());
  }
  Json::Object own, modules;
  for (const auto& [group, count] : r.arguments) own.push_back({group, count});
  if (r.peak) {
    own.push_back({"saved_activations", r.peak->of(BufferRole::saved_activation)});
    if (r.compiled) {
      own.push_back({"gradients", r.peak->of(BufferRole::gradient)});
      own.push_back({"temporaries", r.peak->of(BufferRole::temporary)});
    }
    for (const auto& [module, count] : bytes_by_module(r)) modules.push_back({module, count});
    own.push_back({"modules", std::move(modules)});
  }
  out.push_back({"own_account", std::move(own)});
  return out;
}

Json flops_json(const StepReport& r) {
  Json::Object products;
  for (const auto& [dtype, flops] : r.flops.products) products.push_back({std::string(to_string(dtype)), flops});
  const bool known = r.memory_traffic > 0;
  return Json::Object{{"step", r.flops.total},
                      {"step_unmasked", r.flops.total_unmasked()},
                      {"model", r.model_flops.total},
                      {"model_unmasked", r.model_flops.total_unmasked()},
                      {"model_products", r.model_flops.all_products()},
                      {"model_attention", r.model_flops.attention},
                      {"attention", r.flops.attention},
                      {"products", std::move(products)},
                      {"memory_bytes", known ? Json(r.memory_traffic) : Json()},
                      {"per_byte", known ? Json(r.intensity()) : Json()}};
}

Json collectives_json(const StepReport& r) {
  if (!r.collectives) return {};
  Json::List out;
  for (const CollectiveTotal& t : r.collectives->totals) {
    out.push_back(Json::Object{{"kind", t.kind},
                               {"axes", t.axes},
                               {"group_size", t.group_size},
                               {"count", t.count},
                               {"bytes", t.bytes},
                               {"link_bytes", t.link_bytes},
                               {"network_bytes", t.network_bytes}});
  }
  return out;
}

Json bound_json(const StepReport& r) {
  const bool moved = r.collectives.has_value();
  return Json::Object{{"by", r.bound.by()},
                      {"compute_s", r.bound.compute_s},
                      {"memory_s", r.bound.memory_s},
                      {"links_s", moved ? Json(r.bound.link_s) : Json()},
                      {"network_s", moved ? Json(r.bound.network_s) : Json()},
                      {"mfu", r.mfu()},
                      {"mfu_unmasked", r.mfu_unmasked()},
                      {"tokens", r.tokens}};
}

Json to_json(const StepReport& r) {
  const bool known = !r.refused && r.bound.seconds() > 0;
  Json::List kernels, warnings;
  for (const KernelChoice& choice : r.kernels) kernels.push_back(to_string(choice));
  if (r.compiled) {
    for (const pjrt::CompilerWarning& w : r.compiled->warnings) warnings.push_back(w.op + ": " + w.text);
  }
  return Json::Object{{"program", r.name},
                      {"program_hash", r.program_hash},
                      {"chip", r.chip.name},
                      {"devices", r.mesh.num_devices()},
                      {"mesh", to_string(r.mesh)},
                      {"compiled", r.compiled.has_value()},
                      {"fits", r.compiled || !r.fits() ? Json(r.fits()) : Json()},
                      {"bytes", bytes_json(r)},
                      {"flops", flops_json(r)},
                      {"collectives", collectives_json(r)},
                      {"bound_s", known ? Json(r.bound.seconds()) : Json()},
                      {"bound", known ? bound_json(r) : Json()},
                      {"compile_s", r.compiled ? Json(r.compiled->seconds) : Json()},
                      {"kernels", std::move(kernels)},
                      {"warnings", std::move(warnings)},
                      {"refused", r.refused ? Json(std::string_view(r.refused->what())) : Json()}};
}

std::string write(const Json& json) { return json.text({.indent = 2, .replace_bad_utf8 = true}); }

}  // namespace

std::string report_json(const StepReport& report) { return write(to_json(report)); }

std::string reports_json(const std::vector<StepReport>& reports) {
  if (reports.size() == 1) return report_json(reports[0]);
  Json::Object out;
  for (const StepReport& report : reports) out.push_back({report.name, to_json(report)});
  return write(out);
}

}  // namespace tenon
