#include "tenon/config/modify.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/config/access.h"
#include "tenon/config/tree.h"

namespace tenon {
namespace {

using Kind = ValueType::Kind;

// Unset, none, or an empty slot or function.
bool is_empty(const ValueRef& declared) {
  const ValueRef value = unwrap(declared);
  if (value.data == nullptr) return true;
  if (value.kind() == Kind::slot) return value.as<SlotType>().get(value.data) == nullptr;
  return value.kind() == Kind::function && !value.as<FunctionType>().fn(value.data).has_value();
}

// The nearest interface that both types implement.
const ConfigType& common_interface(const ConfigType& a, const ConfigType& b) {
  const ConfigType* type = &a;
  while (!type->is_abstract() || !b.is_a(*type)) type = type->base();
  return *type;
}

// Copies the fields of the nearest interface both have.
void carry_interface(const AnyConfig& old, AnyConfig& next) {
  const size_t shared = common_interface(old.type(), next.type()).fields().size();
  const FieldGroup from = fields_of(const_cast<AnyConfig&>(old));
  const FieldGroup to = fields_of(next);
  for (size_t i = 0; i < shared; ++i) {
    if (!is_empty(from[i])) to[i].type->assign(to[i].data, from[i].data);
  }
}

// Throws at `path` unless a `type` may stand in a slot of `interface`.
void check_fits(const Path& path, const ConfigType& type, const ConfigType& interface, const char* what) {
  if (type.is_a(interface)) return;
  throw Error(ErrorCode::wrong_type, fmt::format("{} doesn't fit the slot", what))
      .at(format_path(path))
      .got(std::string(type.name()))
      .expected(fmt::format("a {}", interface.name()));
}

// Exchanges what is in slots, from the innermost out.
class Exchanger : public TreeVisitor {
 public:
  Exchanger(const ConfigType& from, const AnyConfig& to, const PathPattern& within, const ConfigType* but_not = nullptr)
      : from_(from), to_(to), within_(within), but_not_(but_not) {}

  void after(const Path& path, const ValueRef& value) override {
    if (value.kind() != Kind::slot || !within_.covers(path)) return;
    const auto& slot = value.as<SlotType>();
    const AnyConfig* current = slot.get(value.data);
    if (current == nullptr || !current->type().is_a(from_)) return;
    if (but_not_ != nullptr && current->type().is_a(*but_not_)) return;
    check_fits(path, to_.type(), slot.interface(), "the replacement");
    std::unique_ptr<AnyConfig> next = clone(to_);
    fill(path, *current, *next);
    slot.set(value.data, std::move(next));
    ++count_;
  }

  // Throws when there was nothing.
  int64_t count(NoMatch no_match, std::string_view verb) const {
    if (count_ != 0 || no_match == NoMatch::is_allowed) return count_;
    const std::string within = within_.text();
    throw Error(ErrorCode::invalid_argument, fmt::format("nothing to {}: the tree has no {}{}", verb, from_.name(),
                                                         within == "**" ? "" : " within " + within));
  }

 protected:
  // Gives `next`, a copy of `to`, what it keeps of what it replaces.
  virtual void fill(const Path& path, const AnyConfig& current, AnyConfig& next) = 0;

 private:
  const ConfigType& from_;
  const AnyConfig& to_;
  const PathPattern& within_;
  const ConfigType* but_not_;
  int64_t count_ = 0;
};

class Replacer final : public Exchanger {
  using Exchanger::Exchanger;
  void fill(const Path&, const AnyConfig& current, AnyConfig& next) override { carry_over(current, next); }
};

class Wrapper final : public Exchanger {
 public:
  Wrapper(const ConfigType& from, const AnyConfig& to, const PathPattern& within, std::string_view slot)
      : Exchanger(from, to, within), slot_(slot) {}

 private:
  void fill(const Path& path, const AnyConfig& current, AnyConfig& next) override {
    carry_interface(current, next);
    ValueRef inner = find(next, slot_);
    if (inner.kind() == Kind::holder && inner.as<HolderType>().inner().kind() == Kind::slot) {
      const auto& optional = inner.as<HolderType>();
      inner = {&optional.inner(), optional.engage(inner.data)};
    }
    if (inner.kind() != Kind::slot) {
      throw Error(ErrorCode::wrong_type, fmt::format("{}.{} is no slot", next.type().name(), slot_))
          .at(format_path(path))
          .got(inner.type->describe());
    }
    check_fits(path, current.type(), inner.as<SlotType>().interface(), "what is wrapped");
    inner.as<SlotType>().set(inner.data, clone(current));
  }
  std::string_view slot_;
};

}  // namespace

void carry_over(const AnyConfig& old, AnyConfig& next) {
  const size_t shared = common_interface(old.type(), next.type()).fields().size();
  const std::unique_ptr<AnyConfig> defaults = next.type().make();
  const FieldGroup from = fields_of(const_cast<AnyConfig&>(old));
  const FieldGroup to = fields_of(next);
  const FieldGroup fresh = fields_of(*defaults);
  for (size_t i = 0; i < to.fields.size(); ++i) {
    const Field* field = find_field(from.fields, to.fields[i].name);
    if (field == nullptr) continue;
    const ValueRef source{&field->type(), field->get(from.owner)};
    const ValueRef target = to[i];
    if (is_empty(source) || source.type->cpp_type() != target.type->cpp_type()) continue;
    if (i < shared || equal_values(target, fresh[i])) target.type->assign(target.data, source.data);
  }
}

int64_t replace(AnyConfig& tree, const ConfigType& from, const AnyConfig& to, NoMatch no_match,
                const PathPattern& within, const ConfigType* but_not) {
  // A copy: `to` may lie inside the tree.
  const std::unique_ptr<AnyConfig> replacement = clone(to);
  Replacer replacer(from, *replacement, within, but_not);
  walk(tree, replacer);
  return replacer.count(no_match, "replace");
}

int64_t wrap(AnyConfig& tree, const ConfigType& from, const AnyConfig& to, std::string_view slot, NoMatch no_match,
             const PathPattern& within) {
  const std::unique_ptr<AnyConfig> outer = clone(to);
  Wrapper wrapper(from, *outer, within, slot);
  walk(tree, wrapper);
  return wrapper.count(no_match, "wrap");
}

}  // namespace tenon
