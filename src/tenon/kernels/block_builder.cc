#include "tenon/kernels/block_builder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace tenon {
namespace {

bool is_float(const BlockType& type) {
  return type.element == "f32" || type.element == "bf16" || type.element == "f16";
}

// As MLIR reads it: floats with a point and an exponent.
std::string number(const BlockType& type, double value) {
  if (type.element == "i1") return value != 0 ? "true" : "false";
  if (std::isinf(value) && type.element == "f32") return value > 0 ? "0x7F800000" : "0xFF800000";
  return is_float(type) ? fmt::format("{:.9e}", value) : fmt::format("{}", static_cast<int64_t>(value));
}

}  // namespace

std::string block_element(DType dtype) { return std::string(to_string(dtype)); }

std::string BlockBuilder::name(const BlockType& type) const {
  if (type.dims.empty()) return type.element;
  return fmt::format("{}<{}x{}>", keyword_, fmt::join(type.dims, "x"), type.element);
}

BlockValues BlockBuilder::emit(std::string_view op, const BlockValues& operands, std::string_view attributes,
                               const std::vector<BlockType>& results, const std::vector<std::string>& regions) {
  BlockValues out;
  std::vector<std::string> defined, used, operand_types, result_types;
  for (const BlockType& type : results) {
    out.push_back({next(), type});
    defined.push_back(out.back().name);
    result_types.push_back(name(type));
  }
  for (const BlockValue& v : operands) {
    used.push_back(v.name);
    operand_types.push_back(name(v.type));
  }
  if (!out.empty()) text_ += fmt::format("{} = ", fmt::join(defined, ", "));
  text_ += fmt::format("\"{}{}\"({})", prefix_, op, fmt::join(used, ", "));
  if (!regions.empty()) text_ += fmt::format(" ({})", fmt::join(regions, ", "));
  if (!attributes.empty()) text_ += fmt::format(" {{{}}}", attributes);
  text_ += fmt::format(" : ({}) -> ({})\n", fmt::join(operand_types, ", "), fmt::join(result_types, ", "));
  return out;
}

BlockValue BlockBuilder::emit(std::string_view op, const BlockValues& operands, std::string_view attributes,
                              BlockType result) {
  return emit(op, operands, attributes, std::vector<BlockType>{std::move(result)}, {})[0];
}

std::string BlockBuilder::region(const std::vector<BlockType>& parameters,
                                 const std::function<void(const BlockValues&)>& body) {
  BlockValues values;
  std::vector<std::string> declared;
  for (const BlockType& type : parameters) {
    values.push_back({next(), type});
    declared.push_back(fmt::format("{}: {}", values.back().name, name(type)));
  }
  std::string around;
  around.swap(text_);
  body(values);
  around.swap(text_);
  if (declared.empty()) return "{\n" + around + "}";
  return fmt::format("{{\n^bb0({}):\n{}}}", fmt::join(declared, ", "), around);
}

BlockValue BlockBuilder::constant(const BlockType& type, double value) {
  const std::string text = number(type, value);
  const std::string full = type.dims.empty() ? text : fmt::format("dense<{}>", text);
  const bool typed = type.dims.empty() && type.element == "i1";
  return emit("arith.constant", {}, "value = " + full + (typed ? "" : " : " + name(type)), type);
}

BlockValue BlockBuilder::arithmetic(std::string_view op, const BlockValue& a, const BlockValue& b) {
  if (is_float(a.type)) return emit(fmt::format("arith.{}f", op), {a, b}, attribute_of_floats(), a.type);
  return emit(fmt::format("arith.{}i", op), {a, b}, "overflowFlags = #arith.overflow<none>", a.type);
}
BlockValue BlockBuilder::div(const BlockValue& a, const BlockValue& b) {
  if (is_float(a.type)) return emit("arith.divf", {a, b}, attribute_of_floats(), a.type);
  return emit("arith.divsi", {a, b}, "", a.type);
}
BlockValue BlockBuilder::max(const BlockValue& a, const BlockValue& b) {
  if (is_float(a.type)) return emit("arith.maximumf", {a, b}, attribute_of_floats(), a.type);
  return emit("arith.maxsi", {a, b}, "", a.type);
}
BlockValue BlockBuilder::min(const BlockValue& a, const BlockValue& b) {
  return emit("arith.minsi", {a, b}, "", a.type);
}
BlockValue BlockBuilder::both(const BlockValue& a, const BlockValue& b) {
  if (!a || !b) return a ? a : b;
  return emit("arith.andi", {a, b}, "", a.type);
}

BlockValue BlockBuilder::compare(Comparison how, const BlockValue& a, const BlockValue& b) {
  const bool floats = is_float(a.type);
  // Numbers of arith.cmpi (signed) and arith.cmpf (false where either is NaN), in the order of Comparison.
  constexpr int kIntegers[] = {0, 2, 3, 4, 5}, kFloats[] = {1, 4, 5, 2, 3};
  const auto at = static_cast<size_t>(how);
  const std::string attributes = floats ? fmt::format("{}, predicate = {} : i64", attribute_of_floats(), kFloats[at])
                                        : fmt::format("predicate = {} : i64", kIntegers[at]);
  return emit(floats ? "arith.cmpf" : "arith.cmpi", {a, b}, attributes, BlockType{"i1", a.type.dims});
}

BlockValue BlockBuilder::select(const BlockValue& condition, const BlockValue& a, const BlockValue& b) {
  return emit("arith.select", {condition, a, b}, "", a.type);
}
BlockValue BlockBuilder::exp(const BlockValue& x) { return emit("math.exp", {x}, attribute_of_floats(), x.type); }
BlockValue BlockBuilder::log(const BlockValue& x) { return emit("math.log", {x}, attribute_of_floats(), x.type); }

BlockValue BlockBuilder::convert(const BlockValue& x, const std::string& element) {
  if (x.type.element == element) return x;
  return emit(element == "f32" ? "arith.extf" : "arith.truncf", {x}, "", BlockType{element, x.type.dims});
}

}  // namespace tenon
