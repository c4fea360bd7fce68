#include "tenon/nn/vision/window.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/config/define.h"
#include "tenon/nn/context.h"

namespace tenon {

using PaddingSignature = WindowPadding(const WindowArgs&);
TENON_FN_TYPE(ValidPadding, PaddingSignature, "none: windows lie inside the image")
TENON_FN_TYPE(SamePadding, PaddingSignature,
              "so that there are ceil(size / stride) windows; an odd element comes after")
TENON_FN_TYPE(ExplicitPadding, PaddingSignature, "these elements", {"top", "rows before"}, {"bottom", "rows after"},
              {"left", "columns before"}, {"right", "columns after"})

WindowPadding ValidPadding::operator()(const WindowArgs& args) const {
  const Dims none(args.image.size(), 0);
  return {none, none};
}

WindowPadding SamePadding::operator()(const WindowArgs& args) const {
  WindowPadding out;
  for (size_t d = 0; d < args.image.size(); ++d) {
    const int64_t windows = (args.image[d] - 1) / args.strides[d] + 1;
    const int64_t reach = (windows - 1) * args.strides[d] + args.window[d];
    const int64_t missing = std::max<int64_t>(reach - args.image[d], 0);
    out.low.push_back(missing / 2);
    out.high.push_back(missing - missing / 2);
  }
  return out;
}

void ExplicitPadding::check(Checker& c) const {
  c.at_least("top", top, 0);
  c.at_least("bottom", bottom, 0);
  c.at_least("left", left, 0);
  c.at_least("right", right, 0);
}

WindowPadding ExplicitPadding::operator()(const WindowArgs&) const { return {{top, left}, {bottom, right}}; }

ExplicitPadding pad_all_sides(int64_t elements) { return {elements, elements, elements, elements}; }

void check_window(Checker& c, std::string_view field, const std::vector<int64_t>& sizes) {
  const bool positive = std::all_of(sizes.begin(), sizes.end(), [](int64_t size) { return size >= 1; });
  c.require(sizes.size() == 2 && positive, field, "must be two positive numbers: height and width");
}

void check_images(const Tensor& x, std::optional<int64_t> channels) {
  if (x.rank() == 4 && x.dim(3) == channels.value_or(x.dim(3))) return;
  throw Error(ErrorCode::shape_mismatch, "images of another shape")
      .at(Context::current().path())
      .got(to_string(x.type()))
      .expected(channels ? fmt::format("[B, H, W, {}]", *channels) : "[B, H, W, C]");
}

WindowPadding pad_windows(const Padding& padding, const Tensor& x, const WindowArgs& args) {
  WindowPadding out = padding(args);
  for (size_t d = 0; d < 2; ++d) {
    if (args.image[d] + out.low[d] + out.high[d] >= args.window[d]) continue;
    throw Error(ErrorCode::shape_mismatch, "a window larger than the padded image")
        .at(Context::current().path())
        .got(fmt::format("a window of {} over {}", to_string(args.window), to_string(x.type())))
        .hint("pad more, or leave out a stride before it");
  }
  return out;
}

}  // namespace tenon
