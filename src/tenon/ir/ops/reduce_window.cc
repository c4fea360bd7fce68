// reduce_window_…: pooling and running reductions.
#include "tenon/ir/ops/combiner.h"
#include "tenon/ir/ops/elementwise.h"
#include "tenon/ir/ops/shape.h"
#include "tenon/ir/ops/support.h"
#include "tenon/ir/ops/table.h"
#include "tenon/ir/ops/window.h"

namespace tenon {
namespace {

int64_t dilated(int64_t size, int64_t by) { return size == 0 ? 0 : (size - 1) * by + 1; }

struct WindowDef : OpDef {
  Combiner combiner;
};
const Combiner& combiner_of(const OpInfo& op) { return static_cast<const WindowDef&>(*op.def).combiner; }

Attrs to_attrs(const WindowDims& d) {
  return {{"size", d.size}, {"strides", d.strides}, {"low", d.low}, {"high", d.high}, {"dilation", d.dilation}};
}
WindowDims from_attrs(const Attrs& a) {
  return {a.dims("size"), a.dims("strides"), a.dims("low"), a.dims("high"), a.dims("dilation")};
}

std::vector<TensorType> infer_reduce_window(const InferArgs& a) {
  const TensorType& x = a.operands[0];
  const WindowDims d = from_attrs(a.attrs);
  const size_t n = x.dims.size();
  bool fits = x.dtype != DType::i1;
  for (const Dims* v : {&d.size, &d.strides, &d.low, &d.high, &d.dilation}) fits = fits && v->size() == n;
  for (size_t i = 0; fits && i < n; ++i) {
    fits = d.size[i] >= 1 && d.strides[i] >= 1 && d.dilation[i] >= 1 && d.low[i] >= 0 && d.high[i] >= 0;
  }
  if (!fits) {
    shape_error("windows of {} by {} over {}, padded by {} and {}, dilated by {}", to_string(d.size),
                to_string(d.strides), to_string(x), to_string(d.low), to_string(d.high), to_string(d.dilation));
  }
  TensorType out{x.dtype, {}};
  for (size_t i = 0; i < n; ++i) {
    const int64_t padded = x.dims[i] + d.low[i] + d.high[i], window = dilated(d.size[i], d.dilation[i]);
    out.dims.push_back(padded < window ? 0 : (padded - window) / d.strides[i] + 1);
  }
  return {out};
}

std::string array_text(const Dims& values) {
  const std::string list = hlo_list(values);
  return fmt::format("array<i64: {}>", list.substr(1, list.size() - 2));
}

void print_reduce_window(HloWriter& w, const OpInfo& op) {
  const Combiner& def = combiner_of(op);
  const WindowDims d = from_attrs(op.attrs);
  const DType dtype = w.type(op.operands[0]).dtype;
  const std::string s = hlo_type({dtype, {}}), init = w.fresh(), x = w.fresh(), y = w.fresh(), sum = w.fresh();
  w.line(fmt::format("{} = stablehlo.constant {}", init, hlo_dense(def.init(dtype))));
  std::string pad;
  for (size_t i = 0; i < d.low.size(); ++i) pad += fmt::format("{}[{}, {}]", i > 0 ? ", " : "", d.low[i], d.high[i]);
  w.define(op, fmt::format("\"stablehlo.reduce_window\"({}, {}) <{{window_dimensions = {}, window_strides = {}, "
                           "window_dilations = {}, padding = dense<[{}]> : tensor<{}x2xi64>}}> ({{\n"
                           "    ^bb0({}: {}, {}: {}):\n      {} = stablehlo.{} {}, {} : {}\n"
                           "      stablehlo.return {} : {}\n    }}) : ({}, {}) -> {}",
                           w.names(op.operands), init, array_text(d.size), array_text(d.strides),
                           array_text(d.dilation), pad, d.low.size(), x, s, y, s, sum, def.hlo_name, x, y, s, sum, s,
                           w.types(op.operands), s, w.type_text(op.results[0])));
}

std::vector<Literal> eval_reduce_window(const EvalArgs& a) {
  const Literal& x = a.operand(0);
  const Combiner& def = combiner_of(a.op);
  const WindowDims d = from_attrs(a.attrs());
  const Dims strides = row_major_strides(x.dims());
  const Literal init = def.init(x.dtype());
  Literal out(a.results[0]);
  int64_t next = 0;
  for_each_index(out.dims(), [&](const Dims& o) {
    double value = is_float(x.dtype()) ? init.as_double(0) : 0;
    copy_element(out, next, init, 0);
    for_each_index(d.size, [&](const Dims& k) {
      int64_t from = 0;
      for (size_t i = 0; i < o.size(); ++i) {
        const int64_t at = o[i] * d.strides[i] + k[i] * d.dilation[i] - d.low[i];
        if (at < 0 || at >= x.dims()[i]) return;
        from += at * strides[i];
      }
      if (is_float(x.dtype())) {
        value = def.on_float(value, x.as_double(from));
      } else {
        out.set_int(next, def.on_int(out.as_int(next), x.as_int(from), x.dtype()));
      }
    });
    if (is_float(x.dtype())) out.set(next, value);
    ++next;
  });
  return {std::move(out)};
}

// Element i is in the windows that reach back from it: the cotangent, its strides undone, summed over such windows.
std::vector<Tensor> vjp_window_sum(const VjpArgs& a) {
  const Tensor &x = a.operand(0), &ct = a.cotangent();
  const WindowDims d = from_attrs(a.attrs);
  if (num_elements(ct.dims()) == 0) return {zeros_like(x)};
  Dims low, high, interior;
  for (size_t i = 0; i < d.size.size(); ++i) {
    const int64_t reach = (d.size[i] - 1) * d.dilation[i];
    low.push_back(reach - d.low[i]);
    high.push_back(x.dims()[i] + reach - low.back() - dilated(ct.dims()[i], d.strides[i]));
    interior.push_back(d.strides[i] - 1);
  }
  const Tensor wide = pad(ct, zeros({ct.dtype(), {}}), low, high, interior);
  return {reduce_window_sum(wide, {d.size, {}, {}, {}, d.dilation})};
}

// Every position in the window reads a slice of the padded array; where it is the choice it gets a share.
template <const Combiner& combiner>
std::vector<Tensor> vjp_window_choice(const VjpArgs& a) {
  const Tensor &x = a.operand(0), &ct = a.cotangent(), &y = a.results[0];
  const WindowDims d = from_attrs(a.attrs);
  if (num_elements(ct.dims()) == 0) return {zeros_like(x)};
  const Tensor padded = pad(x, constant(combiner.init(x.dtype())), d.low, d.high), zero = zeros({ct.dtype(), {}});
  std::vector<Dims> offsets;
  std::vector<Tensor> chosen;
  Tensor count;
  for_each_index(d.size, [&](const Dims& k) {
    Dims start, limit;
    for (size_t i = 0; i < k.size(); ++i) {
      start.push_back(k[i] * d.dilation[i]);
      limit.push_back(start[i] + dilated(y.dims()[i], d.strides[i]));
    }
    chosen.push_back(equal(slice(padded, start, limit, d.strides), y));
    const Tensor one = convert(chosen.back(), ct.dtype());
    count = count ? add(count, one) : one;
    offsets.push_back(std::move(start));
  });
  const Tensor share = ct / count;
  Tensor dx;
  for (size_t k = 0; k < chosen.size(); ++k) {
    Dims low, high, interior;
    for (size_t i = 0; i < d.size.size(); ++i) {
      low.push_back(offsets[k][i] - d.low[i]);
      high.push_back(x.dims()[i] - low[i] - dilated(y.dims()[i], d.strides[i]));
      interior.push_back(d.strides[i] - 1);
    }
    const Tensor part = pad(select(chosen[k], share, zeros_like(share)), zero, low, high, interior);
    dx = dx ? add(dx, part) : part;
  }
  return {dx};
}

double flops_reduce_window(const Trace& trace, const OpInfo& op) {
  return static_cast<double>(num_elements(op.attrs.dims("size"))) *
         static_cast<double>(num_elements(trace.value(op.results[0]).type.dims));
}

constexpr WindowDef window_def(std::string_view name, std::vector<Tensor> (*vjp)(const VjpArgs&), Combiner combiner) {
  return {{name,
           infer_reduce_window,
           print_reduce_window,
           eval_reduce_window,
           vjp,
           {},
           flops_reduce_window,
           Recompute::expensive},
          combiner};
}
const WindowDef kWindowSum = window_def("reduce_window_sum", vjp_window_sum, kCombineSum);
const WindowDef kWindowMax = window_def("reduce_window_max", vjp_window_choice<kCombineMax>, kCombineMax);
const WindowDef kWindowMin = window_def("reduce_window_min", vjp_window_choice<kCombineMin>, kCombineMin);

Tensor reduce_window(const WindowDef& def, const Tensor& x, WindowDims dims) {
  const auto n = as_size(x.rank());
  const auto fill = [&](Dims& v, int64_t value) {
    if (v.empty()) v = Dims(n, value);
  };
  fill(dims.strides, 1);
  fill(dims.low, 0);
  fill(dims.high, 0);
  fill(dims.dilation, 1);
  if (n == 0 && dims.size.empty()) return x;
  return emit1(def, {x}, to_attrs(dims));
}

}  // namespace

Tensor reduce_window_sum(const Tensor& x, const WindowDims& dims) {
  return convert(reduce_window(kWindowSum, convert(x, accumulator(x.dtype())), dims), x.dtype());
}
Tensor reduce_window_max(const Tensor& x, const WindowDims& dims) { return reduce_window(kWindowMax, x, dims); }
Tensor reduce_window_min(const Tensor& x, const WindowDims& dims) { return reduce_window(kWindowMin, x, dims); }

std::span<const OpDef* const> reduce_window_defs() {
  static const OpDef* const defs[] = {&kWindowSum, &kWindowMax, &kWindowMin};
  return defs;
}

}  // namespace tenon
