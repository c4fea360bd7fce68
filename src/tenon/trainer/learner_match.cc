#include "tenon/trainer/learner_match.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tenon/base/stacked_name.h"
#include "tenon/base/text.h"

namespace tenon {

LearnerMatch match_learner(const StateLayout& layout, const std::map<std::string, bool>& rules,
                           const OpenedCheckpoint& checkpoint) {
  std::set<std::string> saved;
  for (std::string& name : checkpoint.names()) {
    if (name.starts_with(kLearnerPrefix)) saved.insert(std::move(name));
  }
  const auto rule = [&](const std::string& name) { return rules.find(name.substr(kLearnerPrefix.size())); };
  LearnerMatch out;
  bool any_anew = false, any_goes_on = false;  // of the optimizer's
  for (size_t i = 0; i < layout.learner.size(); ++i) {
    const StateArray& array = layout.arrays[layout.model.size() + i];
    const std::vector<std::string> names = layer_names(array.name, array.stack);
    const bool goes_on = std::all_of(names.begin(), names.end(), [&](const std::string& name) {
      return saved.contains(name) && is_readable(checkpoint.type(name).value(), array) &&
             (rule(name) == rules.end() || rule(name)->second);
    });
    if (rule(names[0]) != rules.end()) (goes_on ? any_goes_on : any_anew) = true;
    out.goes_on.push_back(goes_on);
    std::vector<std::string>& list = goes_on ? out.kept : out.anew;
    list.insert(list.end(), names.begin(), names.end());
  }
  for (const std::string& name : out.kept) saved.erase(name);
  out.lost.assign(saved.begin(), saved.end());
  out.optimizer_anew = any_anew && !any_goes_on;
  return out;
}

namespace {

// "learner.m", of "learner.m.decoder.norm.scale"; and what is behind it.
std::pair<std::string, std::string> split_kind(const std::string& name) {
  const size_t dot = name.find('.', kLearnerPrefix.size());
  return {name.substr(0, dot), dot == std::string::npos ? "" : name.substr(dot + 1)};
}

}  // namespace

std::string format_groups(const std::vector<std::string>& names, const std::vector<std::string>& others) {
  std::map<std::string, std::vector<std::string>> groups;
  std::map<std::string, size_t> num_others;
  for (const std::string& name : names) {
    auto [kind, parameter] = split_kind(name);
    groups[kind].push_back(std::move(parameter));
  }
  for (const std::string& name : others) ++num_others[split_kind(name).first];
  std::vector<std::string> out;
  for (const auto& [kind, parameters] : groups) {
    const size_t rest = num_others[kind], count = parameters.size();
    if (parameters[0].empty()) {
      out.push_back(kind);
    } else if (rest == 0) {
      out.push_back(fmt::format("{} (all {})", kind, count));
    } else {
      out.push_back(fmt::format("{} ({} of {}: {})", kind, count, count + rest, join(parameters, ", ")));
    }
  }
  return out.empty() ? "nothing" : join(out, ", ");
}

}  // namespace tenon
