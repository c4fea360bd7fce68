#include "tenon/ir/hlo_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "tenon/ir/op_def.h"

namespace tenon {
namespace {

std::string dtype_text(DType dtype) {
  switch (dtype) {
    case DType::u8:
      return "ui8";
    case DType::u32:
      return "ui32";
    case DType::u64:
      return "ui64";
    case DType::f8e4m3fn:
      return "f8E4M3FN";
    case DType::f8e5m2:
      return "f8E5M2";
    default:
      return std::string(to_string(dtype));
  }
}

// Floats as the hexadecimal of their bits, which MLIR reads exactly, NaN and infinity included.
std::string element_text(const Literal& value, int64_t i) {
  const DType dtype = value.dtype();
  if (dtype == DType::i1) return value.as_int(i) != 0 ? "true" : "false";
  if (is_unsigned_int(dtype)) return fmt::format("{}", static_cast<uint64_t>(value.as_int(i)));
  if (is_integer(dtype)) return fmt::format("{}", value.as_int(i));
  uint64_t bits = 0;
  const size_t width = byte_size(dtype);
  std::memcpy(&bits, value.bytes().data() + static_cast<size_t>(i) * width, width);
  return fmt::format("0x{:0{}X}", bits, width * 2);
}

bool is_splat(const Literal& value) {
  const size_t width = byte_size(value.dtype());
  for (int64_t i = 1; i < value.size(); ++i) {
    const std::byte* first = value.bytes().data();
    if (std::memcmp(first, first + static_cast<size_t>(i) * width, width) != 0) return false;
  }
  return value.size() > 0;
}

std::string nested(const Literal& value, size_t dim, int64_t& next) {
  if (dim == value.dims().size()) return element_text(value, next++);
  std::string out = "[";
  for (int64_t i = 0; i < value.dims()[dim]; ++i) {
    if (i > 0) out += ", ";
    out += nested(value, dim + 1, next);
  }
  return out + "]";
}

}  // namespace

std::string hlo_type(const TensorType& type) {
  std::string out = "tensor<";
  for (int64_t d : type.dims) out += fmt::format("{}x", d);
  return out + dtype_text(type.dtype) + ">";
}

std::string hlo_dense(const Literal& value) {
  if (value.size() == 0) return fmt::format("dense<> : {}", hlo_type(value.type()));
  int64_t next = 0;
  const std::string body = is_splat(value) ? element_text(value, 0) : nested(value, 0, next);
  return fmt::format("dense<{}> : {}", body, hlo_type(value.type()));
}

std::string hlo_list(const Dims& values) { return fmt::format("[{}]", fmt::join(values, ", ")); }

std::string hlo_spec(const PartitionSpec& spec, int64_t rank, const Mesh& mesh) {
  std::vector<std::string> dims;
  for (int64_t d = 0; d < rank; ++d) {
    std::vector<std::string> axes;
    if (d < static_cast<int64_t>(spec.dims().size())) {
      for (const std::string& axis : spec.dims()[static_cast<size_t>(d)].names) {
        if (mesh.size(axis) > 1) axes.push_back(fmt::format("\"{}\"", axis));
      }
    }
    dims.push_back(fmt::format("{{{}}}", fmt::join(axes, ", ")));
  }
  return fmt::format("[{}]", fmt::join(dims, ", "));
}

const std::string& HloWriter::name(ValueId v) const {
  const auto it = names_.find(v);
  check(it != names_.end(), fmt::format("value {} is printed before it is defined", v));
  return it->second;
}

std::string HloWriter::names(const std::vector<ValueId>& values) const {
  std::vector<std::string> out;
  for (ValueId v : values) out.push_back(name(v));
  return fmt::format("{}", fmt::join(out, ", "));
}

std::string HloWriter::types(const std::vector<ValueId>& values) const {
  std::vector<std::string> out;
  for (ValueId v : values) out.push_back(type_text(v));
  return fmt::format("{}", fmt::join(out, ", "));
}

std::string HloWriter::signature(const OpInfo& op) const {
  const std::string results = types(op.results);
  return op.results.size() == 1 ? fmt::format("({}) -> {}", types(op.operands), results)
                                : fmt::format("({}) -> ({})", types(op.operands), results);
}

std::string HloWriter::typed_names(const std::vector<ValueId>& values) const {
  std::vector<std::string> out;
  for (ValueId v : values) out.push_back(fmt::format("{}: {}", name(v), type_text(v)));
  return fmt::format("{}", fmt::join(out, ", "));
}

std::string HloWriter::fresh() { return fmt::format("%{}", next_++); }

void HloWriter::define(const OpInfo& op, const std::string& text) {
  const std::string base = fresh();
  if (op.results.size() == 1) {
    bind(op.results[0], base);
    line(fmt::format("{} = {}{}", base, text, location(op)));
    return;
  }
  for (size_t i = 0; i < op.results.size(); ++i) bind(op.results[i], fmt::format("{}#{}", base, i));
  const std::string lhs = op.results.empty() ? "" : fmt::format("{}:{} = ", base, op.results.size());
  line(lhs + text + location(op));
}

void HloWriter::line(const std::string& text) {
  text_.append(static_cast<size_t>(depth_) * 2, ' ');
  text_ += text;
  text_ += '\n';
}

void HloWriter::body(RegionId region) {
  for (OpId id : trace_.region(region).ops) {
    const OpInfo& op = trace_.op(id);
    op.def->print(*this, op);
  }
}

void HloWriter::body_in_place(const OpInfo& op, RegionId region) {
  const RegionInfo& info = trace_.region(region);
  for (size_t i = 0; i < op.operands.size(); ++i) bind(info.params[i], name(op.operands[i]));
  body(region);
  for (size_t i = 0; i < op.results.size(); ++i) bind(op.results[i], name(info.results[i]));
}

std::string HloWriter::location(const OpInfo& op) const {
  if (!locations_) return {};
  const std::string_view path = trace_.path_of(op);
  return path.empty() ? std::string() : fmt::format(" loc(\"{}/{}\")", path, op.def->name);
}

}  // namespace tenon
