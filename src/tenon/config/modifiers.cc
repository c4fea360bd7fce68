#include "tenon/config/modifiers.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "tenon/base/error.h"
#include "tenon/base/text.h"
#include "tenon/config/access.h"
#include "tenon/config/define.h"
#include "tenon/config/modify.h"
#include "tenon/config/path_pattern.h"
#include "tenon/config/tree.h"

namespace tenon {

TENON_FN_TYPE(Replace, void(AnyConfig&), "puts a config in the place of every one of a class",
              {"from", "the class, or an interface"}, {"to", "what takes its place; it keeps what both have"},
              {"within", "only at paths that match this, and below"})
TENON_FN_TYPE(Wrap, void(AnyConfig&), "puts every config of a class into a slot of a new one",
              {"from", "the class, or an interface"}, {"to", "what takes its place"},
              {"slot", "the field of `to` that gets what was there"},
              {"within", "only at paths that match this, and below"})
TENON_FN_TYPE(SetField, void(AnyConfig&), "sets every field whose path matches",
              {"path", "a path; * in a part is any text, ** any number of parts"}, {"value", "what --set would take"})
TENON_FN_TYPE(ScaleDimension, void(AnyConfig&), "multiplies a dimension everywhere",
              {"field", "the name of its fields"}, {"factor", "by so much"},
              {"within", "only at paths that match this, and below"})
TENON_FN_TYPE(Chain, void(AnyConfig&), "modifiers one after the other", {"modifiers", "first to last"})

namespace {

// The paths of the outermost values that match, and the names of all fields.
class PathCollector : public TreeVisitor {
 public:
  explicit PathCollector(const PathPattern& pattern) : pattern_(pattern) {}
  bool value(const Path& path, const ValueRef&) override {
    names_.insert(path.back());
    if (!pattern_.matches(path)) return true;
    paths_.push_back(format_path(path));
    return false;
  }
  const std::vector<std::string>& paths() const { return paths_; }
  std::vector<std::string> names() const { return {names_.begin(), names_.end()}; }

 private:
  const PathPattern& pattern_;
  std::vector<std::string> paths_;
  std::set<std::string> names_;
};

class DimensionScaler : public TreeVisitor {
 public:
  explicit DimensionScaler(const ScaleDimension& what) : what_(what), within_(what.within) {}
  bool value(const Path& path, const ValueRef& declared) override {
    if (path.back() != what_.field.value() || !within_.covers(path)) return true;
    const ValueRef value = unwrap(declared);
    if (value.data == nullptr) return true;
    if (value.kind() == ValueType::Kind::function && constant(value) != nullptr) {
      scale(path, *constant(value));
    } else if (value.type->cpp_type() == typeid(int64_t)) {
      scale(path, *static_cast<int64_t*>(value.data));
    }
    return declared.kind() != ValueType::Kind::holder;  // what is inside has the same path
  }
  bool found() const { return found_; }

 private:
  // The integer that a function is, if it is one.
  static int64_t* constant(const ValueRef& value) {
    const auto& type = value.as<FunctionType>();
    const bool integer = type.fn(value.data).is_constant() && type.constants()->cpp_type() == typeid(int64_t);
    return integer ? static_cast<int64_t*>(type.get(value.data)) : nullptr;
  }
  void scale(const Path& path, int64_t& dimension) {
    const double scaled = what_.factor * static_cast<double>(dimension);
    if (scaled != std::floor(scaled) || std::abs(scaled) > 1e15) {
      throw Error(ErrorCode::invalid_argument, "the scaled dimension isn't whole")
          .at(format_path(path))
          .got(fmt::format("{} * {}", what_.factor, dimension));
    }
    dimension = static_cast<int64_t>(scaled);
    found_ = true;
  }

  const ScaleDimension& what_;
  PathPattern within_;
  bool found_ = false;
};

}  // namespace

void ScaleDimension::check(Checker& c) const { c.require(factor > 0, "factor", "must be above 0"); }

void ScaleDimension::operator()(AnyConfig& tree) const {
  DimensionScaler scaler(*this);
  walk(tree, scaler);
  if (!scaler.found()) {
    throw Error(ErrorCode::invalid_argument, "no integer field that is set is called " + field.value());
  }
}

void Replace::operator()(AnyConfig& tree) const {
  const ConfigType& type = Registry::global().class_type(from.value());
  replace(tree, type, to.get(), NoMatch::is_error, PathPattern(within));
}

void Wrap::operator()(AnyConfig& tree) const {
  const ConfigType& type = Registry::global().class_type(from.value());
  wrap(tree, type, to.get(), slot.value(), NoMatch::is_error, PathPattern(within));
}

void SetField::operator()(AnyConfig& tree) const {
  const PathPattern pattern(path.value());
  PathCollector collector(pattern);
  walk(std::as_const(tree), collector);
  if (collector.paths().empty()) {
    const std::string last = split(path.value(), '.').back();
    throw Error(ErrorCode::invalid_argument, "no field's path matches")
        .got(quote(path.value()))
        .hint(did_you_mean(last, collector.names()));
  }
  for (const std::string& place : collector.paths()) set(tree, place, value);
}

void Chain::check(Checker& c) const {
  for (size_t i = 0; i < modifiers.size(); ++i) {
    c.require(modifiers[i].has_value(), fmt::format("modifiers.{}", i), "must be a modifier");
  }
}

void Chain::operator()(AnyConfig& tree) const {
  for (const Modifier& modifier : modifiers) modify(tree, modifier);
}

void register_modifiers(Registry& registry) { registry.add<Replace, Wrap, SetField, ScaleDimension, Chain>(); }

}  // namespace tenon
