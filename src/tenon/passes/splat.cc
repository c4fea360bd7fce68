#include "tenon/passes/splat.h"

#include <algorithm>

#include "tenon/ir/ops/table.h"

namespace tenon {

const OpInfo* maker(const Tensor& x, std::string_view name) {
  const OpId def = x.trace()->value(x.id()).def;
  if (def == kNoId) return nullptr;
  const OpInfo& op = x.trace()->op(def);
  return op.def->name == name ? &op : nullptr;
}

Tensor splat_scalar(const Tensor& x) {
  if (x.rank() == 0) return x;
  const OpInfo* op = maker(x, "broadcast_in_dim");
  return op == nullptr ? Tensor() : splat_scalar(x.trace()->tensor(op->operands[0]));
}

const Literal* splat_constant(const Tensor& x) {
  const OpInfo* op = maker(x, "constant");
  if (op != nullptr) {
    const Literal& value = op->attrs.literal("value");
    return value.size() == 1 ? &value : nullptr;
  }
  op = maker(x, "broadcast_in_dim");
  return op == nullptr ? nullptr : splat_constant(x.trace()->tensor(op->operands[0]));
}

bool is_elementwise(const OpDef& def) {
  const auto has = [&](std::span<const OpDef* const> family) {
    return std::ranges::find(family, &def) != family.end();
  };
  return has(unary_defs()) || has(binary_defs()) || has(compare_defs()) || has(reduce_precision_defs());
}

}  // namespace tenon
