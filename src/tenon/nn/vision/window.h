// Windows that slide over images: what convolutions and pooling share.
//
// Letters: B images, H height, W width, C channels.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tenon/config/config.h"
#include "tenon/ir/tensor.h"

namespace tenon {

// Height and width of what a window slides over, of the window (dilated) and of its steps.
struct WindowArgs {
  Dims image, window, strides;
};
// Elements before and after, of height and width.
struct WindowPadding {
  Dims low, high;
};
// How images are padded for a window.
using Padding = Fn<WindowPadding(const WindowArgs&)>;

// None: windows lie inside the image.
struct ValidPadding {
  TENON_FN()
  WindowPadding operator()(const WindowArgs& args) const;
};
// So that there are ceil(size / stride) windows; an odd element comes after.
struct SamePadding {
  TENON_FN()
  WindowPadding operator()(const WindowArgs& args) const;
};
// These elements.
struct ExplicitPadding {
  int64_t top = 0, bottom = 0, left = 0, right = 0;
  void check(Checker& c) const;
  TENON_FN(top, bottom, left, right)
  WindowPadding operator()(const WindowArgs& args) const;
};
// The same on all four sides.
ExplicitPadding pad_all_sides(int64_t elements);

// Requires two positive numbers, of height and width.
void check_window(Checker& c, std::string_view field, const std::vector<int64_t>& sizes);
// Throws `shape_mismatch`, in the current context, unless x is [B, H, W, channels]; empty: any number of them.
void check_images(const Tensor& x, std::optional<int64_t> channels = {});
// The same, unless windows fit into the padded images. Returns the padding.
WindowPadding pad_windows(const Padding& padding, const Tensor& x, const WindowArgs& args);

}  // namespace tenon
