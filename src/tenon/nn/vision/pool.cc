#include "tenon/nn/vision/pool.h"

#include <algorithm>

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"

namespace tenon {

TENON_INTERFACE(Pool, Module, "each window of images [B,H,W,C] as one element a channel",
                {"window", "its height and width"},
                {"strides", "its steps in height and width; empty: the window, so that windows don't overlap"},
                {"padding", "ValidPadding, SamePadding or ExplicitPadding"})
TENON_MODULE(MaxPool, Pool, "the largest element of each window")
TENON_MODULE(AvgPool, Pool, "the mean of each window", {"count_padding", "whether padding counts as zeros"})
TENON_INTERFACE(GlobalPool, Module, "all of an image as one element a channel")
TENON_MODULE(GlobalAvgPool, GlobalPool, "the mean over the image")
TENON_MODULE(GlobalMaxPool, GlobalPool, "the largest element of the image")

namespace {

Dims with_ends(const Dims& spatial, int64_t ends) { return {ends, spatial[0], spatial[1], ends}; }

// All dimensions but the first and the last.
Dims inner_dims(const Tensor& x) {
  if (x.rank() < 3) {
    throw Error(ErrorCode::shape_mismatch, "nothing to pool over")
        .at(Context::current().path())
        .got(to_string(x.type()))
        .expected("[B, …, C]");
  }
  Dims out;
  for (int64_t d = 1; d < x.rank() - 1; ++d) out.push_back(d);
  return out;
}

}  // namespace

void Pool::Config::check(Checker& c) const {
  check_window(c, "window", window);
  if (!strides.empty()) check_window(c, "strides", strides);
}

Pool::Pool(const Config& config)
    : Module(config),
      window_(config.window),
      strides_(config.strides.empty() ? config.window : config.strides),
      padding_(config.padding) {}

WindowDims Pool::windows(const Tensor& x) const {
  check_images(x);
  const auto [low, high] = pad_windows(padding_, x, {{x.dim(1), x.dim(2)}, window_, strides_});
  return {with_ends(window_, 1), with_ends(strides_, 1), with_ends(low, 0), with_ends(high, 0), {}};
}

Tensor MaxPool::forward(const Tensor& x) const { return reduce_window_max(x, windows(x)); }

Tensor AvgPool::forward(const Tensor& x) const {
  const WindowDims dims = windows(x);
  const Tensor y = widen(x), sum = reduce_window_sum(y, dims);
  const auto is_zero = [](int64_t n) { return n == 0; };
  const bool padded = !std::all_of(dims.low.begin(), dims.low.end(), is_zero) ||
                      !std::all_of(dims.high.begin(), dims.high.end(), is_zero);
  if (count_padding_ || !padded) {
    return convert(sum * (1 / static_cast<double>(dims.size[1] * dims.size[2])), x.dtype());
  }
  const Tensor counts = reduce_window_sum(full({y.dtype(), {1, x.dim(1), x.dim(2), 1}}, 1), dims);
  return convert(sum / counts, x.dtype());
}

Tensor GlobalAvgPool::forward(const Tensor& x) const { return convert(mean(widen(x), inner_dims(x)), x.dtype()); }

Tensor GlobalMaxPool::forward(const Tensor& x) const { return reduce_max(x, inner_dims(x)); }

}  // namespace tenon
