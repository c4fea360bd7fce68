#include "tenon/tune/evaluation.h"

#include "tenon/base/text.h"

namespace tenon {
namespace {

Json products_json(const std::map<DType, double>& products) {
  Json::Object out;
  for (const auto& [dtype, flops] : products) out.push_back({std::string(to_string(dtype)), flops});
  return out;
}

double read_number(const Json& json, std::string_view key) {
  const std::optional<double> number = json.member(key).number();
  if (!number || !(*number >= 0)) throw Error(ErrorCode::damaged, std::string(key) + " is no amount");
  return *number;
}

std::map<DType, double> read_products(const Json& json, std::string_view key) {
  std::map<DType, double> out;
  for (const Json::Member& m : json.object(key)) {
    const std::optional<DType> dtype = parse_dtype(m.key);
    if (!dtype) throw Error(ErrorCode::damaged, quote_text(m.key) + " is no dtype");
    out[*dtype] = read_number(Json(Json::Object{m}), m.key);
  }
  return out;
}

int64_t read_bytes(const Json& json, std::string_view key) {
  return static_cast<int64_t>(json.whole_number(key, uint64_t{1} << 62));
}

}  // namespace

Evaluation evaluation_of(const StepReport& report) {
  Evaluation out;
  out.program = report.program_hash;
  if (report.refused) {
    out.refusal = report.refused->what();
    out.too_large = true;
    return out;
  }
  out.counts = count_step(report);
  out.bytes = report.bytes();
  out.compile_s = report.compiled->seconds;
  out.argument_bytes = report.compiled->memory.argument;
  out.temporary_bytes = report.compiled->memory.temporary;
  return out;
}

Json to_json(const Evaluation& e) {
  Json::Object out{{"rule", e.rule}, {"program", e.program}};
  if (!e.compiled()) {
    out.push_back({"refusal", e.refusal});
    out.push_back({"too_large", e.too_large});
    return out;
  }
  const StepCounts& c = e.counts;
  const Json::Object counts{{"bytes", e.bytes},
                            {"argument_bytes", e.argument_bytes},
                            {"temporary_bytes", e.temporary_bytes},
                            {"products", products_json(c.products)},
                            {"product_bytes", c.product_bytes},
                            {"other_bytes", c.other_bytes},
                            {"link_bytes", c.link_bytes},
                            {"network_bytes", c.network_bytes},
                            {"collectives", c.collectives},
                            {"instructions", c.instructions},
                            {"compile_s", e.compile_s}};
  out.insert(out.end(), counts.begin(), counts.end());
  if (e.measured_s) out.push_back({"measured_s", *e.measured_s});
  return out;
}

Evaluation read_evaluation(const Json& json) {
  Evaluation e;
  e.rule = json.string("rule");
  e.program = json.string("program");
  if (json.find("refusal") != nullptr) {
    e.refusal = json.string("refusal");
    const bool* too_large = json.member("too_large").as<bool>();
    if (too_large == nullptr || e.refusal.empty()) throw Error(ErrorCode::damaged, "a refusal without a reason");
    e.too_large = *too_large;
    return e;
  }
  e.bytes = read_bytes(json, "bytes");
  e.argument_bytes = read_bytes(json, "argument_bytes");
  e.temporary_bytes = read_bytes(json, "temporary_bytes");
  e.counts = {read_products(json, "products"),  read_number(json, "product_bytes"), read_number(json, "other_bytes"),
              read_number(json, "link_bytes"),  read_number(json, "network_bytes"), read_number(json, "collectives"),
              read_number(json, "instructions")};
  e.compile_s = read_number(json, "compile_s");
  if (json.find("measured_s") != nullptr) e.measured_s = read_number(json, "measured_s");
  return e;
}

Json to_json(const MachineSpeeds& s) {
  return Json::Object{{"peaks", products_json(s.peaks)},
                      {"memory", s.memory},
                      {"links", s.links},
                      {"network", s.network},
                      {"collective_s", s.collective_s},
                      {"instruction_s", s.instruction_s},
                      {"source", s.source}};
}

MachineSpeeds read_speeds(const Json& json) {
  return {read_products(json, "peaks"), read_number(json, "memory"),       read_number(json, "links"),
          read_number(json, "network"), read_number(json, "collective_s"), read_number(json, "instruction_s"),
          json.string("source")};
}

}  // namespace tenon
