// constant, iota.
#include "tenon/ir/ops/shape.h"
#include "tenon/ir/ops/support.h"
#include "tenon/ir/ops/table.h"

namespace tenon {
namespace {

std::vector<TensorType> infer_constant(const InferArgs& a) { return {a.attrs.literal("value").type()}; }
void print_constant(HloWriter& w, const OpInfo& op) {
  w.define(op, fmt::format("stablehlo.constant {}", hlo_dense(op.attrs.literal("value"))));
}
std::vector<Literal> eval_constant(const EvalArgs& a) { return {a.attrs().literal("value")}; }

std::vector<TensorType> infer_iota(const InferArgs& a) {
  const TensorType type{a.attrs.dtype("dtype"), a.attrs.dims("shape")};
  const int64_t dim = a.attrs.integer("dim");
  if (dim < 0 || dim >= type.rank() || type.dtype == DType::i1)
    shape_error("along dimension {} of {}", dim, to_string(type));
  return {type};
}
void print_iota(HloWriter& w, const OpInfo& op) {
  w.define(op, fmt::format("stablehlo.iota dim = {} : {}", op.attrs.integer("dim"), w.type_text(op.results[0])));
}
std::vector<Literal> eval_iota(const EvalArgs& a) {
  Literal out(a.results[0]);
  const auto dim = static_cast<size_t>(a.attrs().integer("dim"));
  int64_t i = 0;
  for_each_index(out.dims(), [&](const Dims& index) {
    if (is_float(out.dtype())) {
      out.set(i++, static_cast<double>(index[dim]));
    } else {
      out.set_int(i++, index[dim]);
    }
  });
  return {std::move(out)};
}

const OpDef kConstant{"constant", infer_constant, print_constant, eval_constant, nullptr, {}, no_flops};
const OpDef kIota{"iota", infer_iota, print_iota, eval_iota, nullptr, {}, no_flops};

}  // namespace

Tensor constant(Literal value) {
  return emit1(kConstant, {}, {{"value", std::make_shared<const Literal>(std::move(value))}});
}

Tensor full(const TensorType& type, double value) {
  Literal one = Literal::scalar(type.dtype, value);
  if (!is_float(type.dtype) && one.as_double(0) != value) {
    Error e(ErrorCode::invalid_argument, fmt::format("{} isn't a value of {}", value, to_string(type.dtype)));
    throw tracing() ? e.at(std::string(current_trace().path())) : e;
  }
  const Tensor scalar = constant(std::move(one));
  return type.dims.empty() ? scalar : broadcast_in_dim(scalar, type.dims, {});
}
Tensor zeros(const TensorType& type) { return full(type, 0); }
Tensor zeros_like(const Tensor& x) { return full(x.type(), 0); }
Tensor full_like(const Tensor& x, double value) { return full(x.type(), value); }
Tensor iota(const TensorType& type, int64_t dim) {
  return emit1(kIota, {}, {{"dtype", type.dtype}, {"shape", type.dims}, {"dim", dim < 0 ? dim + type.rank() : dim}});
}

std::span<const OpDef* const> constant_defs() {
  static const OpDef* const defs[] = {&kConstant, &kIota};
  return defs;
}

}  // namespace tenon
