#include "tenon/autodiff/remat.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "tenon/base/regex.h"
#include "tenon/base/text.h"
#include "tenon/base/wildcard.h"
#include "tenon/config/define.h"
#include "tenon/config/registry.h"

namespace tenon {

TENON_FN_TYPE(SaveEverything, Save(const RematQuery&), "keeps every value the backward pass reads")
TENON_FN_TYPE(SaveNothing, Save(const RematQuery&), "computes everything again from the inputs of the scope")
TENON_FN_TYPE(SaveDots, Save(const RematQuery&), "keeps the results of contractions")
TENON_FN_TYPE(SaveTags, Save(const RematQuery&), "keeps values with these tags",
              {"device", "tags kept in device memory"}, {"host", "tags kept in host memory"})
TENON_FN_TYPE(SaveRules, Save(const RematQuery&), "decides by module path, tag and op",
              {"rules", "the first that matches decides"}, {"otherwise", "where no rule matches"})

Save SaveEverything::operator()(const RematQuery&) const { return Save::device; }
Save SaveNothing::operator()(const RematQuery&) const { return Save::recompute; }
Save SaveDots::operator()(const RematQuery& query) const {
  return query.op == "dot_general" || query.op == "attention" ? Save::device : Save::recompute;
}
namespace {

// Most are plain names; of the others, each is compiled once.
bool matches_tag(const std::string& pattern, std::string_view tag) {
  if (pattern.empty() || pattern == tag) return true;
  if (tag.empty() || pattern.find_first_of(".*+?()[]{}|^$\\") == std::string::npos) return false;
  thread_local std::map<std::string, Regex> compiled;
  auto found = compiled.find(pattern);
  if (found == compiled.end()) found = compiled.emplace(pattern, Regex::compile(pattern).value()).first;
  return found->second.matches(tag);
}

}  // namespace

Save SaveTags::operator()(const RematQuery& query) const {
  const auto has = [&](const std::vector<std::string>& tags) {
    return !query.tag.empty() &&
           std::any_of(tags.begin(), tags.end(), [&](const std::string& tag) { return matches_tag(tag, query.tag); });
  };
  return has(device) ? Save::device : has(host) ? Save::host : Save::recompute;
}

namespace {

bool matches(const SaveRule& rule, const RematQuery& query) {
  const bool here =
      rule.path.empty() || matches_wildcard(rule.path, query.path) || matches_wildcard(rule.path + ".*", query.path);
  return here && matches_tag(rule.tag, query.tag) && (rule.op.empty() || rule.op == query.op);
}

std::string describe(const SaveRule& rule) {
  std::vector<std::string> parts;
  if (!rule.path.empty()) parts.push_back(fmt::format("path \"{}\"", rule.path));
  if (!rule.tag.empty()) parts.push_back(fmt::format("tag \"{}\"", rule.tag));
  if (!rule.op.empty()) parts.push_back(fmt::format("op \"{}\"", rule.op));
  return fmt::format("{}", fmt::join(parts, " and "));
}

std::vector<RematClause> clauses_of(const RematPolicy& policy) {
  std::vector<SaveRule> rules;
  if (const auto* tags = policy.as<SaveTags>()) {
    for (const std::string& tag : tags->device) rules.push_back({.tag = tag});
    for (const std::string& tag : tags->host) rules.push_back({.tag = tag});
  }
  if (const auto* list = policy.as<SaveRules>()) rules = list->rules;
  std::vector<RematClause> out;
  for (const SaveRule& rule : rules) {
    out.push_back({describe(rule), [rule](const RematQuery& query) { return matches(rule, query); }});
  }
  return out;
}

// A problem of entry `index` of `list` when its tag is no regular expression, or `seen` has it already.
void check_entry(Checker& c, std::string_view list, size_t index, const SaveRule& rule, std::set<std::string>& seen) {
  const std::string field = fmt::format("{}.{}", list, index), text = describe(rule);
  c.require(seen.insert(text).second, field,
            fmt::format("names the same as one before it, so that it decides nothing: {}",
                        text.empty() ? "everything" : text));
  const Result<Regex> tag = Regex::compile(rule.tag);
  c.require(tag.ok(), field, tag.ok() ? "" : tag.error().message());
}

// A few of the names, for an error.
std::string some(const std::set<std::string_view>& names) {
  constexpr size_t kMax = 30;
  std::vector<std::string_view> shown(names.begin(), names.end());
  const bool more = shown.size() > kMax;
  if (more) shown.resize(kMax);
  return fmt::format("{}{}", fmt::join(shown, ", "), more ? ", ..." : "");
}

// What policies can name in some scopes.
struct Names {
  std::set<std::string_view> paths, tags, ops;
  void add(const RematQuery& query) {
    paths.insert(query.path);
    ops.insert(query.op);
    if (!query.tag.empty()) tags.insert(query.tag);
  }
  // The module that all are in.
  std::string module() const {
    if (paths.empty()) return "";
    const std::string_view first = *paths.begin(), last = *paths.rbegin();
    const auto end = std::mismatch(first.begin(), first.end(), last.begin(), last.end()).first;
    const std::string_view common = first.substr(0, static_cast<size_t>(end - first.begin()));
    if (common == first && (common == last || last[common.size()] == '.')) return std::string(common);
    const size_t dot = common.rfind('.');
    return std::string(common.substr(0, dot == std::string_view::npos ? 0 : dot));
  }
  // What was probably meant where `clause`, as describe() has it, matches none.
  std::string nearest(const std::string& clause) const {
    std::vector<std::string> all;
    for (const auto* names : {&paths, &tags, &ops}) all.insert(all.end(), names->begin(), names->end());
    const std::vector<std::string> parts = split(clause, '"');
    for (size_t i = 1; i < parts.size(); i += 2) {
      if (std::find(all.begin(), all.end(), parts[i]) != all.end()) continue;
      if (std::string near = did_you_mean(parts[i], all); !near.empty()) return near;
    }
    return "";
  }
};

// What became of one clause: the names in the scopes that have it.
struct Tried {
  bool matched = false;
  Names names;
};

}  // namespace

void SaveTags::check(Checker& c) const {
  std::set<std::string> seen;
  for (size_t i = 0; i < device.size(); ++i) check_entry(c, "device", i, {.tag = device[i]}, seen);
  for (size_t i = 0; i < host.size(); ++i) check_entry(c, "host", i, {.tag = host[i]}, seen);
}

void SaveRules::check(Checker& c) const {
  std::set<std::string> seen;
  for (size_t i = 0; i < rules.size(); ++i) check_entry(c, "rules", i, rules[i], seen);
}

Save SaveRules::operator()(const RematQuery& query) const {
  const auto rule = std::find_if(rules.begin(), rules.end(), [&](const SaveRule& r) { return matches(r, query); });
  return rule == rules.end() ? otherwise : rule->save;
}

void check_remat_policies(const Trace& trace, uint32_t first_scope, size_t first_op) {
  // Scopes of one policy stand together: each layer opens its own. A clause is unmatched until something matches.
  std::map<std::string, Tried> tried;
  for (uint32_t scope = first_scope; scope < trace.num_remat_scopes(); ++scope) {
    for (const RematClause& clause : trace.remat_clauses(scope)) tried.try_emplace(clause.text);
  }
  for (size_t id = first_op; id < trace.num_ops(); ++id) {
    const OpInfo& op = trace.op(static_cast<OpId>(id));
    const uint32_t scope = op.mark.remat_scope;
    if (scope == kNoId || scope < first_scope || trace.remat_clauses(scope).empty()) continue;
    const RematQuery query = trace.remat_query(op);
    for (const RematClause& clause : trace.remat_clauses(scope)) {
      Tried& of_clause = tried[clause.text];
      of_clause.names.add(query);
      of_clause.matched = of_clause.matched || clause.matches(query);
    }
  }
  for (const auto& [text, of_clause] : tried) {
    if (of_clause.matched) continue;
    const Names& names = of_clause.names;
    throw Error(ErrorCode::invalid_argument, "the module's remat policy names what isn't in it")
        .at(names.module())
        .got(text)
        .hint(names.nearest(text))
        .expected(fmt::format("paths: {}; tags: {}; ops: {}", some(names.paths), some(names.tags), some(names.ops)));
  }
}

void register_autodiff(Registry& registry) {
  registry.add<SaveEverything, SaveNothing, SaveDots, SaveTags, SaveRules>();
}

RematScope::RematScope(const RematPolicy& policy) {
  if (!policy) return;
  Trace& trace = current_trace();
  previous_ = trace.mark().remat_scope;
  const auto decide = [policy](const RematQuery& query) { return policy(query); };
  trace.set_remat_scope(trace.add_remat_scope(decide, clauses_of(policy)));
  active_ = true;
}

RematScope::~RematScope() {
  if (active_) current_trace().set_remat_scope(previous_);
}

}  // namespace tenon
