#include "tenon/ir/flops.h"

#include <algorithm>

#include "tenon/ir/op_def.h"

namespace tenon {
namespace {

FlopCount count_attention(const Trace& trace, const OpInfo& op) {
  FlopCount out;
  out.total = out.attention = op_flops(trace, op);
  const int64_t T = trace.value(op.operands[0]).type.dims[2], S = trace.value(op.operands[1]).type.dims[2];
  const double pairs = static_cast<double>(T) * static_cast<double>(S);
  const double left = unmasked_pairs(T, S, op.attrs.flag("causal"), op.attrs.integer("window"));
  out.attention_unmasked = pairs > 0 ? out.attention * left / pairs : 0;
  out.products[trace.value(op.operands[0]).type.dtype] = out.total;
  return out;
}

// An op that holds others, from what its regions count: as often as its total says. Of branches the dearer counts; of a
// custom derivative the first region, its value.
FlopCount count_nested(const Trace& trace, const OpInfo& op) {
  FlopCount inner;
  const size_t used = std::string_view(op.def->name) == "custom_vjp" ? 1 : op.regions.size();
  for (size_t i = 0; i < used; ++i) {
    FlopCount count = count_flops_by_kind(trace, op.regions[i]);
    if (count.total >= inner.total) inner = std::move(count);
  }
  FlopCount out;
  const double total = op_flops(trace, op);
  if (inner.total > 0) out.add(inner, total / inner.total);
  out.total = total;
  return out;
}

// Compilers multiply what was widened from 8-bit floats as it was, where the chip can.
DType multiplied_dtype(const Trace& trace, const OpInfo& op) {
  const auto source = [&](ValueId id) {
    const ValueInfo& value = trace.value(id);
    const OpInfo* def = value.def == kNoId ? nullptr : &trace.op(value.def);
    const bool widened = def != nullptr && std::string_view(def->def->name) == "convert";
    return widened ? trace.value(def->operands[0]).type.dtype : value.type.dtype;
  };
  const auto is_f8 = [](DType d) { return d == DType::f8e4m3fn || d == DType::f8e5m2; };
  const DType lhs = source(op.operands[0]), rhs = source(op.operands[1]);
  return is_f8(lhs) && is_f8(rhs) ? lhs : trace.value(op.operands[0]).type.dtype;
}

FlopCount count_op(const Trace& trace, const OpInfo& op) {
  const std::string_view name = op.def->name;
  if (name == "attention" || name == "attention_backward") return count_attention(trace, op);
  const bool leaf = op.regions.empty() || op.def->kernel != nullptr || name.starts_with("reduce");
  if (!leaf) return count_nested(trace, op);
  FlopCount out;
  out.total = op_flops(trace, op);
  if (name == "dot_general" || name == "convolution") {
    out.products[multiplied_dtype(trace, op)] = out.total;
  }
  return out;
}

}  // namespace

double FlopCount::all_products() const {
  double sum = 0;
  for (const auto& [dtype, flops] : products) sum += flops;
  return sum;
}

FlopCount& FlopCount::add(const FlopCount& other, double times) {
  total += times * other.total;
  attention += times * other.attention;
  attention_unmasked += times * other.attention_unmasked;
  for (const auto& [dtype, flops] : other.products) products[dtype] += times * flops;
  return *this;
}

FlopCount count_flops_by_kind(const Trace& trace, RegionId region) {
  FlopCount out;
  for (const OpId id : trace.region(region).ops) out.add(count_op(trace, trace.op(id)), 1);
  return out;
}

double unmasked_pairs(int64_t num_queries, int64_t num_keys, bool causal, int64_t window) {
  double pairs = 0;
  for (int64_t q = 0; q < num_queries; ++q) {
    const int64_t at = q + num_keys - num_queries;
    const int64_t first = window > 0 ? std::max<int64_t>(0, at - window + 1) : 0;
    const int64_t last = causal ? at : window > 0 ? std::min(num_keys - 1, at + window - 1) : num_keys - 1;
    pairs += static_cast<double>(std::max<int64_t>(0, last - first + 1));
  }
  return pairs;
}

}  // namespace tenon
