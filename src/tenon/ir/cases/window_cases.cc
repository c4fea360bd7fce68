// Cases of convolution and reduce_window.

#include "tenon/ir/cases/case_list.h"
#include "tenon/ir/ops/window.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;

void add_convolution(CaseList& list) {
  const auto add = [&](const std::string& label, DType dtype, const Dims& x, const Dims& kernel, const ConvDims& dims) {
    // Eighths between -2 and 2: sums are exact in f32 and wider.
    list.add(
        "convolution", label + " " + std::string(to_string(dtype)), {eighths({dtype, x}), eighths({dtype, kernel}, 1)},
        [=](const Tensors& t) { return Tensors{convolution(t[0], t[1], dims)}; }, dtype == DType::f64 ? kLinear : 0);
  };
  add("plain", DType::f32, {1, 4, 5, 2}, {2, 3, 2, 3}, {});
  for (const DType d : {DType::f64, DType::bf16, DType::f16}) add("plain", d, {1, 4, 5, 2}, {2, 3, 2, 3}, {});
  for (const DType d : {DType::f32, DType::f64}) {
    add("one dimension, padded", d, {2, 5, 3}, {3, 3, 2}, {{}, {1}, {2}});
    add("strides", d, {2, 6, 5, 1}, {3, 2, 1, 2}, {{2, 3}, {1, 0}, {0, 1}});
    add("strides that leave a rest", d, {1, 8, 1}, {3, 1, 1}, {{4}});
    add("kernel dilation", d, {1, 7, 2}, {3, 2, 1}, {{}, {1}, {1}, {}, {2}});
    add("input dilation", d, {1, 3, 2}, {3, 2, 1}, {{2}, {1}, {2}, {3}, {}});
    add("everything", d, {2, 5, 4}, {2, 2, 6}, {{3}, {2}, {4}, {2}, {3}, 2});
    add("groups", d, {2, 4, 6}, {2, 2, 3}, {{}, {}, {}, {}, {}, 3});
    add("depthwise", d, {1, 4, 3}, {2, 1, 6}, {{}, {1}, {0}, {}, {}, 3});
    add("cropped", d, {1, 6, 1}, {2, 1, 1}, {{}, {-1}, {-2}});
    add("same padding", d, {1, 5, 5, 1}, {3, 2, 1, 1}, same_padding({{2, 1}}, {5, 5}, {3, 2}));
    add("no spatial dimensions", d, {3, 2}, {2, 4}, {});
    add("window larger than the input", d, {1, 2, 1}, {3, 1, 1}, {});
    add("no batch", d, {0, 4, 1}, {2, 1, 1}, {});
  }
  add("three dimensions", DType::f32, {1, 3, 3, 3, 1}, {2, 2, 2, 1, 2}, {});
}

using WindowFn = Tensor (*)(const Tensor&, const WindowDims&);

void add_reduce_window(CaseList& list, const char* op, WindowFn fn) {
  const auto add = [&](const std::string& label, const Literal& x, const WindowDims& dims) {
    list.add(
        op, label + " " + to_string(x.type()), {x}, [=](const Tensors& t) { return Tensors{fn(t[0], dims)}; },
        x.dtype() == DType::f64 ? kSmooth : 0);
  };
  for (const DType d :
       {DType::f32, DType::f64, DType::bf16, DType::f16, DType::f8e5m2, DType::i32, DType::i8, DType::u32}) {
    add("pool", sample({d, {2, 4, 4}}, 0, 30), {{1, 2, 2}, {1, 2, 2}});
  }
  for (const DType d : {DType::f32, DType::f64}) {
    add("overlapping, padded", sample({d, {5, 4}}, -9, 9), {{3, 2}, {2, 1}, {1, 0}, {2, 1}});
    add("dilated", sample({d, {9}}, -9, 9), {{3}, {2}, {0}, {1}, {2}});
    add("running", sample({d, {4}}, -9, 9), {{4}, {}, {3}, {0}});
    add("a rest is left", sample({d, {6}}, -9, 9), {{2}, {4}});
    add("window of one", sample({d, {2, 2}}, -9, 9), {{1, 1}});
    add("window larger than the array", sample({d, {2}}, -9, 9), {{3}});
    add("of nothing", Literal({d, {0}}), {{2}, {}, {1}, {1}});
  }
  add("edges", floats(DType::f32, {6}, {1, kInf, -kInf, kNaN, 0, 2}), {{2}});
}

}  // namespace

void add_window_cases(CaseList& list) {
  add_convolution(list);
  add_reduce_window(list, "reduce_window_sum", reduce_window_sum);
  add_reduce_window(list, "reduce_window_max", reduce_window_max);
  add_reduce_window(list, "reduce_window_min", reduce_window_min);
}

}  // namespace tenon
