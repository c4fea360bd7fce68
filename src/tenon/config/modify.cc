#include "tenon/config/modify.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/base/error.h"
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

class Replacer : public TreeVisitor {
 public:
  Replacer(const ConfigType& from, const AnyConfig& to) : from_(from), to_(to) {}

  void after(const Path& path, const ValueRef& value) override {
    if (value.kind() != Kind::slot) return;
    const auto& slot = value.as<SlotType>();
    const AnyConfig* current = slot.get(value.data);
    if (current == nullptr || !current->type().is_a(from_)) return;
    if (!to_.type().is_a(slot.interface())) {
      throw Error(ErrorCode::wrong_type, "the replacement doesn't fit the slot")
          .at(format_path(path))
          .got(std::string(to_.type().name()))
          .expected(fmt::format("a {}", slot.interface().name()));
    }
    std::unique_ptr<AnyConfig> next = clone(to_);
    carry_over(*current, *next);
    slot.set(value.data, std::move(next));
    ++count_;
  }

  int64_t count() const { return count_; }

 private:
  const ConfigType& from_;
  const AnyConfig& to_;
  int64_t count_ = 0;
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

int64_t replace(AnyConfig& tree, const ConfigType& from, const AnyConfig& to, NoMatch no_match) {
  // A copy: `to` may lie inside the tree.
  const std::unique_ptr<AnyConfig> replacement = clone(to);
  Replacer replacer(from, *replacement);
  walk(tree, replacer);
  if (replacer.count() == 0 && no_match == NoMatch::is_error) {
    throw Error(ErrorCode::invalid_argument, fmt::format("nothing to replace: the tree has no {}", from.name()));
  }
  return replacer.count();
}

}  // namespace tenon
