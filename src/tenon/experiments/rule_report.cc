// What was found in mesh rules, for people and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tenon/base/json.h"
#include "tenon/base/text.h"
#include "tenon/experiments/rule_lint.h"

namespace tenon {
namespace {

std::string counted(int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// {"tpu-v4-8", "tpu-v4-16"} as "tpu-v4-(8|16)": machines that stand behind one another and share all but the last part.
std::vector<std::string> by_kind(const std::vector<std::string>& machines) {
  std::vector<std::pair<std::string, std::vector<std::string>>> kinds;
  for (const std::string& machine : machines) {
    const size_t dash = machine.rfind('-');
    const std::string kind = machine.substr(0, dash);
    if (kinds.empty() || kinds.back().first != kind) kinds.push_back({kind, {}});
    kinds.back().second.push_back(machine.substr(dash + 1));
  }
  std::vector<std::string> out;
  for (const auto& [kind, sizes] : kinds) {
    out.push_back(sizes.size() == 1 ? kind + "-" + sizes[0] : fmt::format("{}-({})", kind, join(sizes, "|")));
  }
  return out;
}

std::string findings_text(const RuleReport& report) {
  std::string text;
  for (const RuleFinding& f : report.findings) {
    const std::string where = f.rule < 0 ? f.instance : fmt::format("rule {}, {}", f.rule, quote_text(f.instance));
    text += fmt::format("{}: {}: {}: {}\n", f.experiment, where, to_string(f.fault), f.message);
  }
  return text;
}

// Machines without a rule, and how many experiments have none for them.
std::string uncovered_text(const RuleReport& report) {
  std::map<std::string, std::vector<std::string>> experiments;
  for (const RuleCoverage& coverage : report.coverage) {
    for (const std::string& machines : by_kind(coverage.uncovered))
      experiments[machines].push_back(coverage.experiment);
  }
  if (experiments.empty()) return "";
  std::string text = "types of machines that no rule is for:\n";
  for (const auto& [machines, names] : experiments) {
    const std::string more = names.size() > 1 ? fmt::format(" and {} more", names.size() - 1) : "";
    text += fmt::format("  {}: {}{}\n", machines, names[0], more);
  }
  return text;
}

std::string coverage_text(const RuleReport& report) {
  std::set<std::string> chips;
  size_t width = 0;
  for (const RuleCoverage& coverage : report.coverage) {
    width = std::max(width, coverage.experiment.size());
    for (const auto& [chip, count] : coverage.chips) chips.insert(chip);
  }
  if (chips.empty()) return "";
  std::string text = "types of machines with a rule, of those there are:\n" + std::string(width, ' ');
  for (const std::string& chip : chips) text += fmt::format("  {:>7}", chip);
  text += "\n";
  for (const RuleCoverage& coverage : report.coverage) {
    text += fmt::format("{:<{}}", coverage.experiment, width);
    for (const std::string& chip : chips) {
      const auto it = coverage.chips.find(chip);
      text += fmt::format("  {:>7}", it == coverage.chips.end() || it->second.covered == 0
                                         ? "-"
                                         : fmt::format("{}/{}", it->second.covered, it->second.machines));
    }
    text += "\n";
  }
  return text;
}

Json coverage_json(const RuleCoverage& coverage) {
  Json::Object chips;
  for (const auto& [chip, count] : coverage.chips) {
    chips.push_back({chip, Json::Object{{"covered", count.covered}, {"machines", count.machines}}});
  }
  Json::List uncovered;
  for (const std::string& machine : coverage.uncovered) uncovered.push_back(machine);
  return Json::Object{{"chips", std::move(chips)}, {"uncovered", std::move(uncovered)}};
}

}  // namespace

std::string to_string(const RuleReport& report) {
  return findings_text(report) + uncovered_text(report) + coverage_text(report) +
         fmt::format("{}, {} with rules; {} of machines; {}\n", counted(report.experiments, "experiment"),
                     report.coverage.size(), counted(report.machines, "type"),
                     counted(static_cast<int64_t>(report.findings.size()), "fault"));
}

std::string rules_json(const RuleReport& report) {
  Json::List findings;
  for (const RuleFinding& f : report.findings) {
    findings.push_back(Json::Object{{"fault", to_string(f.fault)},
                                    {"experiment", f.experiment},
                                    {"rule", f.rule < 0 ? Json() : Json(f.rule)},
                                    {"instance", f.instance},
                                    {"message", f.message}});
  }
  Json::Object coverage;
  for (const RuleCoverage& c : report.coverage) coverage.push_back({c.experiment, coverage_json(c)});
  return Json(Json::Object{{"experiments", report.experiments},
                           {"machines", report.machines},
                           {"findings", std::move(findings)},
                           {"coverage", std::move(coverage)}})
      .text({.indent = 2});
}

}  // namespace tenon
