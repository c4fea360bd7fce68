// convolution in the layout [N, spatial…, C] x [spatial…, C / groups, K]; its derivatives are convolutions of
// transposed operands.
#include <algorithm>

#include "tenon/ir/ops/elementwise.h"
#include "tenon/ir/ops/shape.h"
#include "tenon/ir/ops/support.h"
#include "tenon/ir/ops/table.h"
#include "tenon/ir/ops/window.h"

namespace tenon {
namespace {

int64_t dilated(int64_t size, int64_t by) { return size == 0 ? 0 : (size - 1) * by + 1; }

Attrs to_attrs(const ConvDims& d) {
  return {{"strides", d.strides},           {"low", d.low},      {"high", d.high}, {"lhs_dilation", d.lhs_dilation},
          {"rhs_dilation", d.rhs_dilation}, {"groups", d.groups}};
}
ConvDims from_attrs(const Attrs& a) {
  return {a.dims("strides"),      a.dims("low"),          a.dims("high"),
          a.dims("lhs_dilation"), a.dims("rhs_dilation"), a.integer("groups")};
}

bool all_positive(const Dims& dims) {
  return std::all_of(dims.begin(), dims.end(), [](int64_t d) { return d >= 1; });
}

std::vector<TensorType> infer_convolution(const InferArgs& a) {
  const TensorType &x = a.operands[0], &k = a.operands[1];
  const ConvDims d = from_attrs(a.attrs);
  const size_t n = x.dims.size() < 2 ? 0 : x.dims.size() - 2;
  bool fits = x.dims.size() >= 2 && k.dims.size() == x.dims.size() && x.dtype == k.dtype && x.dtype != DType::i1;
  for (const Dims* v : {&d.strides, &d.low, &d.high, &d.lhs_dilation, &d.rhs_dilation}) fits = fits && v->size() == n;
  fits =
      fits && d.groups >= 1 && all_positive(d.strides) && all_positive(d.lhs_dilation) && all_positive(d.rhs_dilation);
  fits = fits && x.dims[n + 1] == k.dims[n] * d.groups && k.dims[n + 1] % d.groups == 0;
  if (!fits) {
    shape_error("{} with kernel {} in {} groups, strides {}, dilations {} and {}", to_string(x), to_string(k), d.groups,
                to_string(d.strides), to_string(d.lhs_dilation), to_string(d.rhs_dilation));
  }
  TensorType out{x.dtype, {x.dims[0]}};
  for (size_t i = 0; i < n; ++i) {
    const int64_t padded = dilated(x.dims[i + 1], d.lhs_dilation[i]) + d.low[i] + d.high[i];
    const int64_t window = dilated(k.dims[i], d.rhs_dilation[i]);
    if (padded < 0 || window < 1) shape_error("dimension {} of {} would have size {}", i + 1, to_string(x), padded);
    out.dims.push_back(padded < window ? 0 : (padded - window) / d.strides[i] + 1);
  }
  out.dims.push_back(k.dims[n + 1]);
  return {out};
}

std::string spatial_numbers(size_t n) {
  std::string out;
  for (size_t i = 0; i < n; ++i) out += fmt::format("{}, ", i);
  return out;
}

void print_convolution(HloWriter& w, const OpInfo& op) {
  const ConvDims d = from_attrs(op.attrs);
  const std::string spatial = spatial_numbers(d.strides.size());
  std::string pad;
  for (size_t i = 0; i < d.low.size(); ++i) pad += fmt::format("{}[{}, {}]", i > 0 ? ", " : "", d.low[i], d.high[i]);
  w.define(op,
           fmt::format("stablehlo.convolution({}) dim_numbers = [b, {}f]x[{}i, o]->[b, {}f], window = {{stride = {}, "
                       "pad = [{}], lhs_dilate = {}, rhs_dilate = {}}} {{batch_group_count = 1 : i64, "
                       "feature_group_count = {} : i64}} : {}",
                       w.names(op.operands), spatial, spatial, spatial, hlo_list(d.strides), pad,
                       hlo_list(d.lhs_dilation), hlo_list(d.rhs_dilation), d.groups, w.signature(op)));
}

// The input row that tap `k` of output element `o` reads, or -1 where there are zeros.
int64_t input_row(const ConvDims& d, size_t i, int64_t o, int64_t k, int64_t size) {
  const int64_t at = o * d.strides[i] + k * d.rhs_dilation[i] - d.low[i];
  return at >= 0 && at % d.lhs_dilation[i] == 0 && at / d.lhs_dilation[i] < size ? at / d.lhs_dilation[i] : -1;
}

std::vector<Literal> eval_convolution(const EvalArgs& a) {
  const Literal &x = a.operand(0), &kernel = a.operand(1);
  const ConvDims d = from_attrs(a.attrs());
  const size_t n = d.strides.size();
  const int64_t inputs = kernel.dims()[n], outputs = kernel.dims()[n + 1];
  const Dims x_strides = row_major_strides(x.dims());
  const Dims taps(kernel.dims().begin(), kernel.dims().begin() + static_cast<int64_t>(n));
  const bool floats = is_float(x.dtype());
  Literal out(a.results[0]);
  int64_t next = 0;
  for_each_index(out.dims(), [&](const Dims& o) {
    double sum = 0;
    uint64_t int_sum = 0;
    int64_t tap = 0;
    const int64_t first = o[n + 1] / (outputs / d.groups) * inputs;  // the group's first input
    for_each_index(taps, [&](const Dims& k) {
      int64_t from = o[0] * x_strides[0] + first;
      bool inside = true;
      for (size_t i = 0; i < n; ++i) {
        const int64_t row = input_row(d, i, o[i + 1], k[i], x.dims()[i + 1]);
        inside = inside && row >= 0;
        from += row * x_strides[i + 1];
      }
      for (int64_t c = 0; inside && c < inputs; ++c) {
        const int64_t weight = (tap * inputs + c) * outputs + o[n + 1];
        if (floats) {
          sum += x.as_double(from + c) * kernel.as_double(weight);
        } else {
          int_sum += static_cast<uint64_t>(x.as_int(from + c)) * static_cast<uint64_t>(kernel.as_int(weight));
        }
      }
      ++tap;
    });
    if (floats) {
      out.set(next++, sum);
    } else {
      out.set_int(next++, static_cast<int64_t>(int_sum));
    }
  });
  return {std::move(out)};
}

Dims spatial_dims(const Tensor& kernel) { return {kernel.dims().begin(), kernel.dims().end() - 2}; }

// [spatial…, last two] with these two as given.
Dims move_last(size_t n, std::initializer_list<int64_t> rest) {
  Dims out;
  for (size_t i = 0; i < n; ++i) out.push_back(static_cast<int64_t>(i));
  for (int64_t r : rest) out.push_back(static_cast<int64_t>(n) + r);
  return out;
}

// [spatial…, C / G, K] -> [spatial…, K / G, C], each group apart.
Tensor swap_features(const Tensor& kernel, int64_t groups) {
  const Dims taps = spatial_dims(kernel);
  const size_t n = taps.size();
  const int64_t c = kernel.dim(-2), k = kernel.dim(-1) / groups;
  Dims split = taps, joined = taps;
  split.insert(split.end(), {c, groups, k});
  joined.insert(joined.end(), {k, groups * c});
  return reshape(transpose(reshape(kernel, split), move_last(n, {2, 1, 0})), joined);
}

// The cotangent, its strides undone, with the flipped kernel.
Tensor vjp_input(const Tensor& ct, const Tensor& x, const Tensor& kernel, const ConvDims& d) {
  ConvDims back{d.lhs_dilation, {}, {}, d.strides, d.rhs_dilation, d.groups};
  Dims all;
  for (size_t i = 0; i < d.strides.size(); ++i) {
    const int64_t window = dilated(kernel.dims()[i], d.rhs_dilation[i]);
    const int64_t input = dilated(x.dims()[i + 1], d.lhs_dilation[i]), output = dilated(ct.dims()[i + 1], d.strides[i]);
    back.low.push_back(window - d.low[i] - 1);
    back.high.push_back(input + window - 1 - output - back.low.back());
    all.push_back(static_cast<int64_t>(i));
  }
  return convolution(ct, swap_features(reverse(kernel, all), d.groups), back);
}

// The input with the cotangent as its kernel: batch and features change places.
Tensor vjp_kernel(const Tensor& ct, const Tensor& x, const Tensor& kernel, const ConvDims& d) {
  const size_t n = d.strides.size();
  const int64_t batch = x.dim(0), c = kernel.dim(-2), rank = x.rank();
  ConvDims back{d.rhs_dilation, d.low, {}, d.lhs_dilation, d.strides, d.groups};
  for (size_t i = 0; i < n; ++i) {
    const int64_t window = dilated(kernel.dims()[i], d.rhs_dilation[i]);
    const int64_t input = dilated(x.dims()[i + 1], d.lhs_dilation[i]), output = dilated(ct.dims()[i + 1], d.strides[i]);
    back.high.push_back(output - input + window - d.low[i] - 1);
  }
  // x: [N, s…, G * C] -> [C, s…, G * N].
  Dims split(x.dims().begin(), x.dims().end() - 1), order{rank}, joined{c};
  split.insert(split.end(), {d.groups, c});
  for (int64_t i = 1; i < rank - 1; ++i) order.push_back(i), joined.push_back(x.dim(i));
  order.insert(order.end(), {rank - 1, 0});
  joined.push_back(d.groups * batch);
  const Tensor input = reshape(transpose(reshape(x, split), order), joined);
  // ct: [N, s…, K] -> [s…, N, K].
  Dims ct_order;
  for (int64_t i = 1; i < rank - 1; ++i) ct_order.push_back(i);
  ct_order.insert(ct_order.end(), {0, rank - 1});
  const Tensor grad = convolution(input, transpose(ct, ct_order), back);  // [C, taps…, K]
  return transpose(grad, ct_order);
}

std::vector<Tensor> vjp_convolution(const VjpArgs& a) {
  const Tensor &x = a.operand(0), &kernel = a.operand(1), &ct = a.cotangent();
  const ConvDims d = from_attrs(a.attrs);
  const bool nothing = num_elements(ct.dims()) == 0 || num_elements(x.dims()) == 0 || num_elements(kernel.dims()) == 0;
  Tensor dx, dk;
  if (a.active[0]) dx = nothing ? zeros_like(x) : vjp_input(ct, x, kernel, d);
  if (a.active[1]) dk = nothing ? zeros_like(kernel) : vjp_kernel(ct, x, kernel, d);
  return {dx, dk};
}

double flops_convolution(const Trace& trace, const OpInfo& op) {
  const Dims &kernel = trace.value(op.operands[1]).type.dims, &out = trace.value(op.results[0]).type.dims;
  return 2.0 * static_cast<double>(num_elements({kernel.begin(), kernel.end() - 1})) *
         static_cast<double>(num_elements(out));
}

const OpDef kConvolution{"convolution",     infer_convolution,   print_convolution,
                         eval_convolution,  vjp_convolution,     {},
                         flops_convolution, Recompute::expensive};

}  // namespace

Tensor convolution(const Tensor& x, const Tensor& kernel, const ConvDims& dims) {
  const auto n = as_size(std::max<int64_t>(x.rank() - 2, 0));
  const auto filled = [&](const Dims& v, int64_t value) { return v.empty() ? Dims(n, value) : v; };
  const ConvDims full{filled(dims.strides, 1),      filled(dims.low, 0),          filled(dims.high, 0),
                      filled(dims.lhs_dilation, 1), filled(dims.rhs_dilation, 1), dims.groups};
  return emit1(kConvolution, {x, kernel}, to_attrs(full));
}

ConvDims same_padding(ConvDims dims, const Dims& spatial, const Dims& kernel) {
  dims.low.clear();
  dims.high.clear();
  for (size_t i = 0; i < spatial.size(); ++i) {
    const int64_t stride = dims.strides.empty() ? 1 : dims.strides[i];
    const int64_t window = dilated(kernel.at(i), dims.rhs_dilation.empty() ? 1 : dims.rhs_dilation[i]);
    const int64_t out = (spatial[i] + stride - 1) / stride;
    const int64_t all = std::max<int64_t>((out - 1) * stride + window - spatial[i], 0);
    dims.low.push_back(all / 2);
    dims.high.push_back(all - all / 2);
  }
  return dims;
}

std::span<const OpDef* const> convolution_defs() {
  static const OpDef* const defs[] = {&kConvolution};
  return defs;
}

}  // namespace tenon
