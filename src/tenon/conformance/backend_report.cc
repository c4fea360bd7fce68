// Reports on plugins as tables and JSON.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tenon/base/json.h"
#include "tenon/base/text.h"
#include "tenon/conformance/backend_check.h"

namespace tenon {
namespace {

constexpr size_t kMaxWords = 400;

// One line of bounded length.
std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (text.size() <= kMaxWords) return text;
  text.resize(kMaxWords);
  return text.append("…");
}

std::string row(const std::string& name, CheckStatus status, const std::string& words) {
  std::string out = fmt::format("  {:<30} {:<9}", name, to_string(status));
  if (!words.empty()) out += "  " + one_line(words);
  out.erase(out.find_last_not_of(' ') + 1);
  return out + "\n";
}

// By how it came out, and the cases that aren't good.
std::string format_ops(const std::vector<CheckResult>& ops) {
  std::map<std::string, bool> good;  // by op: all of its cases
  std::map<CheckStatus, size_t> counts;
  for (const CheckResult& op : ops) {
    ++counts[op.status];
    good.emplace(op.name, true).first->second &= is_good(op.status);
  }
  const auto all_good =
      static_cast<size_t>(std::count_if(good.begin(), good.end(), [](const auto& of_op) { return of_op.second; }));
  std::vector<std::string> parts;
  for (const auto& [status, count] : counts) parts.push_back(fmt::format("{} {}", count, to_string(status)));
  std::string out = fmt::format("ops: {} of {} without a fault; of {} cases {}\n", all_good, good.size(), ops.size(),
                                join(parts, ", "));
  std::string not_tried;
  for (const CheckResult& op : ops) {
    const char* note = op.is_needed ? "" : " (not needed)";
    if (!is_good(op.status)) out += row(op.name + " " + op.label, op.status, one_line(op.words) + note);
    if (op.status == CheckStatus::not_tried) not_tried = op.words;
  }
  if (!not_tried.empty()) out += "  not tried: " + one_line(not_tried) + "\n";
  return out;
}

Json result_json(const CheckResult& r) {
  Json::Object out{{"name", r.name}, {"status", to_string(r.status)}, {"words", r.words}, {"needed", r.is_needed}};
  if (!r.label.empty()) out.push_back({"case", r.label});
  return out;
}

}  // namespace

std::string format_backend(const BackendReport& report) {
  std::string out = report.plugin + "\n";
  for (const auto& [name, text] : report.facts) out += fmt::format("  {:<30} {}\n", name, one_line(text));
  if (report.machine.empty()) {
    return out + "nothing can be compiled with it here: " + one_line(report.no_devices) + "\n";
  }
  if (report.runs) {
    out += fmt::format("programs run on {}\n", report.machine);
  } else {
    out += fmt::format("programs are compiled for {}, and not run\n", report.machine);
    if (!report.no_devices.empty()) out += "  no device here: " + one_line(report.no_devices) + "\n";
  }
  for (const CheckResult& check : report.checks) out += row(check.name, check.status, check.words);
  return out + format_ops(report.ops);
}

std::string backend_json(const BackendReport& report) {
  Json::Object facts;
  for (const auto& [name, text] : report.facts) facts.push_back({name, text});
  Json::List checks, ops;
  for (const CheckResult& check : report.checks) checks.push_back(result_json(check));
  for (const CheckResult& op : report.ops) ops.push_back(result_json(op));
  return Json(Json::Object{{"plugin", report.plugin},
                           {"facts", std::move(facts)},
                           {"machine", report.machine.empty() ? Json() : Json(report.machine)},
                           {"runs", report.runs},
                           {"no_devices", report.no_devices.empty() ? Json() : Json(report.no_devices)},
                           {"checks", std::move(checks)},
                           {"ops", std::move(ops)},
                           {"works", report.works()}})
      .text({.indent = 2, .replace_bad_utf8 = true});
}

}  // namespace tenon
