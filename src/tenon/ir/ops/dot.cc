// dot_general: batched contraction.
#include <algorithm>
#include <numeric>

#include "tenon/ir/ops/contract.h"
#include "tenon/ir/ops/elementwise.h"
#include "tenon/ir/ops/shape.h"
#include "tenon/ir/ops/support.h"
#include "tenon/ir/ops/table.h"

namespace tenon {
namespace {

// Set where a product has DotPrecision::full, else absent.
constexpr std::string_view kFullPrecision = "full_precision";

DotPrecision precision_of(const Attrs& attrs) {
  const auto& items = attrs.items();
  const bool full =
      std::any_of(items.begin(), items.end(), [](const auto& item) { return item.first == kFullPrecision; });
  return full ? DotPrecision::full : DotPrecision::fast;
}

// Dimensions of an operand that are neither batch nor contracted, in order.
Dims free_dims(int64_t rank, const Dims& batch, const Dims& contract) {
  Dims out;
  for (int64_t d = 0; d < rank; ++d) {
    const bool used = std::count(batch.begin(), batch.end(), d) + std::count(contract.begin(), contract.end(), d) > 0;
    if (!used) out.push_back(d);
  }
  return out;
}

Dims pick(const Dims& dims, const Dims& which) {
  Dims out;
  for (int64_t d : which) out.push_back(dims.at(as_size(d)));
  return out;
}

Dims join(Dims a, const Dims& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<TensorType> infer_dot(const InferArgs& a) {
  const TensorType &x = a.operands[0], &y = a.operands[1];
  const Dims &xb = a.attrs.dims("lhs_batch"), &yb = a.attrs.dims("rhs_batch");
  const Dims &xc = a.attrs.dims("lhs_contract"), &yc = a.attrs.dims("rhs_contract");
  const auto valid = [](const Dims& dims, int64_t rank) {
    Dims sorted = dims;
    std::sort(sorted.begin(), sorted.end());
    return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() &&
           std::all_of(dims.begin(), dims.end(), [&](int64_t d) { return d >= 0 && d < rank; });
  };
  const DType out_dtype = a.attrs.dtype("dtype");
  const bool fits = x.dtype == y.dtype && x.dtype != DType::i1 && out_dtype != DType::i1 &&
                    is_float(x.dtype) == is_float(out_dtype) && valid(join(xb, xc), x.rank()) &&
                    valid(join(yb, yc), y.rank()) && pick(x.dims, xb) == pick(y.dims, yb) &&
                    pick(x.dims, xc) == pick(y.dims, yc);
  if (!fits) {
    shape_error("{} and {} don't contract over {} and {} with batch {} and {} to {}", to_string(x), to_string(y),
                to_string(xc), to_string(yc), to_string(xb), to_string(yb), to_string(out_dtype));
  }
  Dims out = pick(x.dims, xb);
  out = join(out, pick(x.dims, free_dims(x.rank(), xb, xc)));
  out = join(out, pick(y.dims, free_dims(y.rank(), yb, yc)));
  return {{out_dtype, out}};
}

void print_dot(HloWriter& w, const OpInfo& op) {
  const Dims &xb = op.attrs.dims("lhs_batch"), &yb = op.attrs.dims("rhs_batch");
  const std::string batch = xb.empty() ? "" : fmt::format("batching_dims = {} x {}, ", hlo_list(xb), hlo_list(yb));
  const char* precision = precision_of(op.attrs) == DotPrecision::full ? ", precision = [HIGHEST, HIGHEST]" : "";
  w.define(op, fmt::format("stablehlo.dot_general {}, {}contracting_dims = {} x {}{} : {}", w.names(op.operands), batch,
                           hlo_list(op.attrs.dims("lhs_contract")), hlo_list(op.attrs.dims("rhs_contract")), precision,
                           w.signature(op)));
}

// As plain [batch, free, contracted] loops over permuted offsets.
std::vector<int64_t> offsets(const Dims& dims, const Dims& which) {
  const Dims strides = row_major_strides(dims);
  std::vector<int64_t> out;
  const Dims selected = pick(strides, which);
  for_each_index(pick(dims, which), [&](const Dims& index) { out.push_back(flat_index(index, selected)); });
  return out;
}

std::vector<Literal> eval_dot(const EvalArgs& a) {
  const Literal &x = a.operand(0), &y = a.operand(1);
  const Dims &xb = a.attrs().dims("lhs_batch"), &yb = a.attrs().dims("rhs_batch");
  const Dims &xc = a.attrs().dims("lhs_contract"), &yc = a.attrs().dims("rhs_contract");
  const auto x_batch = offsets(x.dims(), xb), y_batch = offsets(y.dims(), yb);
  const auto x_free = offsets(x.dims(), free_dims(x.type().rank(), xb, xc));
  const auto y_free = offsets(y.dims(), free_dims(y.type().rank(), yb, yc));
  const auto x_sum = offsets(x.dims(), xc), y_sum = offsets(y.dims(), yc);
  const bool floats = is_float(x.dtype());
  const std::vector<double> xs = floats ? x.to_doubles() : std::vector<double>();
  const std::vector<double> ys = floats ? y.to_doubles() : std::vector<double>();
  Literal out(a.results[0]);
  int64_t i = 0;
  for (size_t b = 0; b < x_batch.size(); ++b) {
    for (const int64_t m : x_free) {
      for (const int64_t n : y_free) {
        const int64_t xo = x_batch[b] + m, yo = y_batch[b] + n;
        double sum = 0;
        uint64_t int_sum = 0;
        for (size_t k = 0; k < x_sum.size(); ++k) {
          if (floats) {
            sum += xs[as_size(xo + x_sum[k])] * ys[as_size(yo + y_sum[k])];
          } else {
            int_sum += static_cast<uint64_t>(x.as_int(xo + x_sum[k])) * static_cast<uint64_t>(y.as_int(yo + y_sum[k]));
          }
        }
        if (floats) {
          out.set(i++, sum);
        } else {
          out.set_int(i++, static_cast<int64_t>(int_sum));
        }
      }
    }
  }
  return {std::move(out)};
}

// Cotangent of one operand: the result's cotangent contracted with the other operand over the other's free dimensions,
// then permuted to the operand's order.
Tensor vjp_operand(const Tensor& ct, const Tensor& other, bool lhs, const Dims& own_batch, const Dims& own_contract,
                   const Dims& own_free, const Dims& other_batch, const Dims& other_contract, const Dims& other_free,
                   DType dtype, DotPrecision precision) {
  const auto nb = static_cast<int64_t>(own_batch.size());
  const int64_t other_at = nb + (lhs ? static_cast<int64_t>(own_free.size()) : 0);
  DotDims dims;
  Dims& ct_batch = lhs ? dims.lhs_batch : dims.rhs_batch;
  Dims& ct_contract = lhs ? dims.lhs_contract : dims.rhs_contract;
  for (int64_t d = 0; d < nb; ++d) ct_batch.push_back(d);
  for (size_t d = 0; d < other_free.size(); ++d) ct_contract.push_back(other_at + static_cast<int64_t>(d));
  (lhs ? dims.rhs_batch : dims.lhs_batch) = other_batch;
  (lhs ? dims.rhs_contract : dims.lhs_contract) = other_free;
  // The operand's own free dimensions come from `ct`, its contracted ones from the free dimensions left of `other`.
  const Dims left = free_dims(other.rank(), other_batch, other_free);
  Dims contracted_in_order;
  for (int64_t d : left) {
    const auto k = std::find(other_contract.begin(), other_contract.end(), d) - other_contract.begin();
    contracted_in_order.push_back(own_contract[as_size(k)]);
  }
  Tensor product = dot_general(lhs ? ct : other, lhs ? other : ct, dims, dtype, precision);
  const Dims order =
      lhs ? join(join(own_batch, own_free), contracted_in_order) : join(join(own_batch, contracted_in_order), own_free);
  Dims permutation(order.size());
  for (size_t d = 0; d < order.size(); ++d) permutation[as_size(order[d])] = static_cast<int64_t>(d);
  return transpose(product, permutation);
}

std::vector<Tensor> vjp_dot(const VjpArgs& a) {
  const Tensor &x = a.operand(0), &y = a.operand(1);
  const Dims &xb = a.attrs.dims("lhs_batch"), &yb = a.attrs.dims("rhs_batch");
  const Dims &xc = a.attrs.dims("lhs_contract"), &yc = a.attrs.dims("rhs_contract");
  const Dims xf = free_dims(x.rank(), xb, xc), yf = free_dims(y.rank(), yb, yc);
  const Tensor ct = convert(a.cotangent(), x.dtype());
  const DotPrecision precision = precision_of(a.attrs);
  Tensor dx, dy;
  if (a.active[0]) dx = vjp_operand(ct, y, true, xb, xc, xf, yb, yc, yf, x.dtype(), precision);
  if (a.active[1]) dy = vjp_operand(ct, x, false, yb, yc, yf, xb, xc, xf, y.dtype(), precision);
  return {dx, dy};
}

double dot_flops(const Trace& trace, const OpInfo& op) {
  const Dims& x = trace.value(op.operands[0]).type.dims;
  double k = 1;
  for (int64_t d : op.attrs.dims("lhs_contract")) k *= static_cast<double>(x[as_size(d)]);
  return 2 * k * static_cast<double>(num_elements(trace.value(op.results[0]).type.dims));
}

const OpDef kDot{"dot_general", infer_dot, print_dot, eval_dot, vjp_dot, {}, dot_flops};

}  // namespace

Tensor dot_general(const Tensor& a, const Tensor& b, const DotDims& dims, DType out, DotPrecision precision) {
  Attrs attrs{{"lhs_batch", dims.lhs_batch},
              {"rhs_batch", dims.rhs_batch},
              {"lhs_contract", dims.lhs_contract},
              {"rhs_contract", dims.rhs_contract},
              {"dtype", out}};
  if (precision == DotPrecision::full) attrs.add(kFullPrecision, true);
  return emit1(kDot, {a, b}, std::move(attrs));
}
Tensor dot_general(const Tensor& a, const Tensor& b, const DotDims& dims, DotPrecision precision) {
  return dot_general(a, b, dims, a.dtype(), precision);
}

Tensor matmul(const Tensor& a, const Tensor& b, DotPrecision precision) {
  if (a.rank() < 2 || a.rank() != b.rank())
    shape_error("matmul of {} and {}", to_string(a.type()), to_string(b.type()));
  DotDims dims;
  for (int64_t d = 0; d + 2 < a.rank(); ++d) dims.lhs_batch.push_back(d);
  dims.rhs_batch = dims.lhs_batch;
  dims.lhs_contract = {a.rank() - 1};
  dims.rhs_contract = {b.rank() - 2};
  return dot_general(a, b, dims, precision);
}

std::span<const OpDef* const> dot_defs() {
  static const OpDef* const defs[] = {&kDot};
  return defs;
}

}  // namespace tenon
