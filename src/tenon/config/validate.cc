#include "tenon/config/validate.h"

#include <fmt/format.h>

#include <set>

#include "tenon/base/error.h"
#include "tenon/base/text.h"
#include "tenon/config/access.h"
#include "tenon/config/checker.h"
#include "tenon/config/path.h"
#include "tenon/config/tree.h"
#include "tenon/config/value.h"

namespace tenon {
namespace {

using Kind = ValueType::Kind;

// Unset required fields and empty slots; in children, only what lies past the fields their parent fills in.
class MissingFinder : public TreeVisitor {
 public:
  explicit MissingFinder(bool into_children) : into_children_(into_children) {}

  bool enter(const Path& path, AnyConfig& config) override {
    if (!path.empty() && !into_children_) return false;
    // The part of a child's fields that its slot's interface names is the parent's to set.
    const size_t skipped = path.empty() ? 0 : interface_fields_;
    for (size_t i = 0; i < skipped; ++i) {
      parents_.insert(child_path(path, config.type().fields()[i].name));
    }
    return true;
  }

  bool value(const Path& path, const ValueRef& value) override {
    const bool empty_slot = value.kind() == Kind::slot && value.as<SlotType>().get(value.data) == nullptr;
    if (value.kind() == Kind::slot) interface_fields_ = value.as<SlotType>().interface().fields().size();
    const bool unset = value.kind() == Kind::holder && value.as<HolderType>().is_required() &&
                       value.as<HolderType>().get(value.data) == nullptr;
    if (!unset && !empty_slot) return true;
    std::string name = format_path(path);
    if (parents_.count(name) == 0) missing_.push_back(std::move(name));
    return true;
  }

  const std::vector<std::string>& missing() const { return missing_; }

 private:
  static std::string child_path(const Path& path, std::string_view field) {
    Path child = path;
    child.emplace_back(field);
    return format_path(child);
  }
  bool into_children_;
  size_t interface_fields_ = 0;
  std::set<std::string> parents_;  // paths that a parent fills in
  std::vector<std::string> missing_;
};

void raise_missing(const std::vector<std::string>& missing) {
  if (missing.empty()) return;
  if (missing.size() == 1) {
    throw Error(ErrorCode::missing_field, fmt::format("the required field {} was never set", missing[0]))
        .at(missing[0]);
  }
  throw Error(ErrorCode::missing_field, fmt::format("required fields were never set: {}", join(missing, ", ")));
}

class CheckRunner : public TreeVisitor {
 public:
  explicit CheckRunner(bool into_children) : into_children_(into_children) {}

  bool enter(const Path& path, AnyConfig& config) override {
    if (!path.empty() && !into_children_) return false;
    run(path, [&] {
      const detail::ConfigScope scope(config);
      config.type().check(config, checker_);
    });
    return true;
  }

  bool value(const Path& path, const ValueRef& value) override {
    if (value.kind() == Kind::record) {
      run(path, [&] { value.as<RecordType>().check(value.data, checker_); });
    } else if (value.kind() == Kind::function) {
      const auto& function = value.as<FunctionType>();
      const FnType* type = function.fn(value.data).type();
      if (type != nullptr) run(path, [&] { type->check(function.get(value.data), checker_); });
    }
    return true;
  }

  const Checker& checker() const { return checker_; }

 private:
  template <class F>
  void run(const Path& path, F check) {
    checker_.set_prefix(format_path(path));
    try {
      check();
    } catch (const Error& error) {
      // A check that needs a field which isn't set yet has nothing to say: it is run again at build.
      if (error.code() != ErrorCode::missing_field) throw;
    }
  }
  bool into_children_;
  Checker checker_;
};

// Where the part of `source` that leads farthest along `path` was written; empty when none does.
std::string place_of(const std::string& path, const Value& source) {
  std::string where;
  const Value* at = &source;
  for (const std::string& part : path.empty() ? Path() : parse_path(path)) {
    const auto* list = at->as<Value::List>();
    const int64_t index = list != nullptr ? parse_index(part) : -1;
    at = index >= 0 && index < std::ssize(*list) ? &(*list)[static_cast<size_t>(index)] : at->find(part);
    if (at == nullptr) break;
    if (!at->where.empty()) where = at->where;
  }
  return where;
}

}  // namespace

void require_set(const AnyConfig& config) {
  MissingFinder finder(false);
  walk(config, finder);
  raise_missing(finder.missing());
}

void check_own(const AnyConfig& config) {
  CheckRunner runner(false);
  walk(config, runner);
  runner.checker().raise();
}

void check_tree(const AnyConfig& root) { check_tree(root, Value()); }

void check_tree(const AnyConfig& root, const Value& source) {
  CheckRunner runner(true);
  walk(root, runner);
  Checker located;
  for (const Checker::Problem& problem : runner.checker().problems()) {
    const std::string where = place_of(problem.path, source);
    located.require(false, problem.path,
                    where.empty() ? problem.message : fmt::format("{}: {}", where, problem.message));
  }
  located.raise();
}

void check_value(const ValueRef& value, std::string_view path) {
  CheckRunner runner(true);
  Path start{std::string(path)};
  walk_value(value, start, runner);
  runner.checker().raise();
}

std::vector<std::string> missing_fields(const AnyConfig& root) {
  MissingFinder finder(true);
  walk(root, finder);
  return finder.missing();
}

void validate(const AnyConfig& root) {
  raise_missing(missing_fields(root));
  check_tree(root);
}

}  // namespace tenon
