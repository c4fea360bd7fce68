// Rankings as text and JSON.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tenon/base/json.h"
#include "tenon/base/text.h"
#include "tenon/tune/tune.h"

namespace tenon {
namespace {

constexpr size_t kShown = 4;  // dropped candidates of a kind

std::string bytes_text(int64_t bytes) { return format_bytes(static_cast<uint64_t>(bytes)); }

std::string format_speeds(const MachineSpeeds& s) {
  std::vector<std::string> parts;
  for (const auto& [dtype, peak] : s.peaks)
    parts.push_back(fmt::format("{} {:.4g} TFLOPS", to_string(dtype), peak / 1e12));
  parts.push_back(fmt::format("memory {:.4g} GB/s", s.memory / 1e9));
  parts.push_back(fmt::format("links {:.4g} GB/s", s.links / 1e9));
  if (s.network > 0) parts.push_back(fmt::format("network {:.4g} GB/s", s.network / 1e9));
  if (s.collective_s > 0) parts.push_back(fmt::format("a collective {:.3g} us", 1e6 * s.collective_s));
  if (s.instruction_s > 0) parts.push_back(fmt::format("an instruction {:.3g} us", 1e6 * s.instruction_s));
  return fmt::format("speeds of a device, {}: {}\n", s.source, join(parts, ", "));
}

std::string format_ranked(const TuneReport& r) {
  const bool measured = std::any_of(r.ranked.begin(), r.ranked.end(),
                                    [](const TuneRow& row) { return row.evaluation->measured_s.has_value(); });
  std::string out = fmt::format("{:>4}  {}{:>10}  {:>10}  {:<8}  {:>10}  candidate\n", "",
                                measured ? "measured s  " : "", "estimate s", "at least s", "by", "bytes");
  for (size_t i = 0; i < r.ranked.size(); ++i) {
    const TuneRow& row = r.ranked[i];
    const std::string seconds =
        !measured ? ""
                  : fmt::format("{:>10}  ", row.evaluation->measured_s ? fmt::format("{:.4g}", row.seconds()) : "");
    out += fmt::format("{:>4}  {}{:>10.4g}  {:>10.4g}  {:<8}  {:>10}  {}\n", i + 1, seconds, row.time.sum(),
                       row.time.bound.seconds(), row.time.bound.by(), bytes_text(row.evaluation->bytes), row.label);
  }
  return out;
}

std::string format_dropped(const TuneReport& r) {
  std::string out;
  for (size_t begin = 0, end = 0; begin < r.dropped.size(); begin = end) {
    while (end < r.dropped.size() && r.dropped[end].drop == r.dropped[begin].drop) ++end;
    out += fmt::format("{} {}:\n", end - begin, to_string(r.dropped[begin].drop));
    for (size_t i = begin; i < std::min(end, begin + kShown); ++i) {
      out += fmt::format("  {}: {}\n", r.dropped[i].label, r.dropped[i].why);
    }
    if (end - begin > kShown) out += "  …\n";
  }
  return out;
}

Json time_json(const StepTime& t) {
  return Json::Object{{"products_s", t.products},
                      {"other_s", t.other},
                      {"links_s", t.links},
                      {"network_s", t.network},
                      {"collectives_s", t.collectives},
                      {"instructions_s", t.instructions}};
}

Json row_json(const TuneRow& row) {
  Json::Object out{{"candidate", row.label}, {"modifiers", to_toml(row.modifiers)}};
  if (row.analysis) {
    out.push_back({"least_bytes", row.analysis->least_bytes});
    out.push_back({"at_least_s", row.analysis->at_least_s});
  }
  if (row.evaluation && row.evaluation->compiled()) {
    const Json::Object more{{"estimate_s", row.time.sum()},        {"parts", time_json(row.time)},
                            {"bound_s", row.time.bound.seconds()}, {"bound_by", row.time.bound.by()},
                            {"bytes", row.evaluation->bytes},      {"compile_s", row.evaluation->compile_s}};
    out.insert(out.end(), more.begin(), more.end());
    if (row.evaluation->measured_s) out.push_back({"measured_s", *row.evaluation->measured_s});
  }
  if (row.drop != Drop::none) {
    out.push_back({"dropped", to_string(row.drop)});
    out.push_back({"why", row.why});
  }
  return out;
}

}  // namespace

std::string_view to_string(Drop drop) {
  constexpr std::array<std::string_view, 10> kNames = {"ranked",
                                                       "don't divide",
                                                       "can't be built",
                                                       "are another's program",
                                                       "don't fit before anything is compiled",
                                                       "can't be the fastest",
                                                       "are refused by the compiler",
                                                       "don't fit",
                                                       "need more than what doesn't fit",
                                                       "weren't compiled"};
  return kNames.at(static_cast<size_t>(drop));
}

void TuneReport::require_winner() const {
  if (!ranked.empty()) return;
  const auto of = [&](std::initializer_list<Drop> kinds) -> const TuneRow* {
    const auto at = std::find_if(dropped.begin(), dropped.end(), [&](const TuneRow& row) {
      return std::find(kinds.begin(), kinds.end(), row.drop) != kinds.end();
    });
    return at == dropped.end() ? nullptr : &*at;
  };
  const bool all_tried = of({Drop::not_tried}) == nullptr;
  const std::string more = all_tried ? "" : "a larger --max_candidates";
  if (const TuneRow* row = of({Drop::arguments, Drop::too_large, Drop::larger})) {
    throw Error(
        ErrorCode::out_of_memory,
        fmt::format("{} a device of {}", all_tried ? "no candidate fits" : "none of those compiled fits", target))
        .at(row->label)
        .got(row->why)
        .expected(fmt::format("at most {}", bytes_text(memory_limit)))
        .hint(more + (all_tried ? "" : ", ") +
              "more devices, a smaller --global_batch, more --microbatches, or --remat nothing");
  }
  if (const TuneRow* row = of({Drop::refused})) {
    throw Error(ErrorCode::compile,
                all_tried ? "the compiler takes no candidate" : "the compiler takes none of those that were tried")
        .at(row->label)
        .got(row->why)
        .hint(more);
  }
  const bool undivided = std::all_of(dropped.begin(), dropped.end(),
                                     [](const TuneRow& row) { return !row.candidate || row.drop == Drop::divides; });
  if (undivided) {
    throw Error(ErrorCode::invalid_argument, "the batch divides over no mesh")
        .at("--global_batch")
        .got(std::to_string(global_batch))
        .hint(dropped.front().why);
  }
  const TuneRow* row = of({Drop::builds});
  throw Error(ErrorCode::invalid_argument, "no candidate can be built")
      .at(row == nullptr ? "" : row->label)
      .got(row == nullptr ? "" : row->why);
}

std::string format_tuning(const TuneReport& r) {
  std::string out = fmt::format("{} for {} ({}), {} examples a step: {} candidates ranked, {} dropped\n", r.experiment,
                                r.target, r.instance, r.global_batch, r.ranked.size(), r.dropped.size());
  out += format_speeds(r.speeds);
  out += fmt::format("memory of a device: {}\n", bytes_text(r.memory_limit));
  if (!r.ranked.empty()) out += format_ranked(r);
  out += format_dropped(r);
  if (!r.ranked.empty()) {
    out += fmt::format("the best: {}\nin {}: `{}`\n", r.ranked.front().label, r.rule_file, r.train_command);
  }
  out.pop_back();
  return out;
}

std::string tuning_json(const TuneReport& r) {
  Json::List ranked, dropped;
  for (const TuneRow& row : r.ranked) ranked.push_back(row_json(row));
  for (const TuneRow& row : r.dropped) dropped.push_back(row_json(row));
  const Json out = Json::Object{{"experiment", r.experiment},     {"target", r.target},
                                {"instance", r.instance},         {"global_batch", r.global_batch},
                                {"memory_limit", r.memory_limit}, {"speeds", to_json(r.speeds)},
                                {"ranked", std::move(ranked)},    {"dropped", std::move(dropped)},
                                {"rule_file", r.rule_file},       {"train_command", r.train_command}};
  return out.text({.indent = 2, .replace_bad_utf8 = true});
}

}  // namespace tenon
