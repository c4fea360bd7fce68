#include "tenon/data/augmentation.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tenon/config/define.h"
#include "tenon/config/number_checks.h"
#include "tenon/data/order.h"

namespace tenon {

using AugmentationSignature = void(AugmentedImage&);
TENON_FN_TYPE(RandomFlip, AugmentationSignature, "left and right exchanged in every other image")
TENON_FN_TYPE(RandomShift, AugmentationSignature, "moved in height and width; zeros come in", {"pixels", "at most"})
TENON_FN_TYPE(RandomCrop, AugmentationSignature, "a part of the image in the image's size",
              {"min_area", "the smallest share of the image"})

double AugmentedImage::draw() {
  return static_cast<double>(fold_seed(key, num_draws++) >> 11) / static_cast<double>(uint64_t{1} << 53);
}

void RandomShift::check(Checker& c) const { c.at_least("pixels", pixels, 0); }
void RandomCrop::check(Checker& c) const { check_interval(c, "min_area", min_area, '(', 0, 1, ']'); }

namespace {

// Elements of a copy of an image.
class Pixels {
 public:
  explicit Pixels(const AugmentedImage& image)
      : shape_(image.shape), bytes_(image.pixels.begin(), image.pixels.end()) {}
  std::byte operator()(int64_t y, int64_t x, int64_t channel) const {
    return bytes_[static_cast<size_t>((y * shape_.width + x) * shape_.channels + channel)];
  }

 private:
  ImageShape shape_;
  std::vector<std::byte> bytes_;
};

// Sets each element to value(y, x, channel).
template <class F>
void fill(AugmentedImage& image, F value) {
  auto out = image.pixels.begin();
  for (int64_t y = 0; y < image.shape.height; ++y) {
    for (int64_t x = 0; x < image.shape.width; ++x) {
      for (int64_t channel = 0; channel < image.shape.channels; ++channel) *out++ = value(y, x, channel);
    }
  }
}

// One dimension of a crop of `size` of `from` elements, at `offset`, as `from` elements: the two elements that element
// `i` lies between, and how far towards the second.
struct Between {
  int64_t first, second;
  double part;
};
Between place(int64_t i, int64_t from, double offset, double size) {
  const double at = offset + (static_cast<double>(i) + 0.5) * size / static_cast<double>(from) - 0.5;
  const double inside = std::clamp(at, 0.0, static_cast<double>(from - 1));
  const auto first = static_cast<int64_t>(std::floor(inside));
  return {first, std::min(first + 1, from - 1), inside - static_cast<double>(first)};
}

}  // namespace

void RandomFlip::operator()(AugmentedImage& image) const {
  if (image.draw() < 0.5) return;
  const Pixels old(image);
  fill(image, [&](int64_t y, int64_t x, int64_t channel) { return old(y, image.shape.width - 1 - x, channel); });
}

void RandomShift::operator()(AugmentedImage& image) const {
  const auto shift = [&] {
    const double range = 2 * static_cast<double>(pixels) + 1;
    return static_cast<int64_t>(std::floor(image.draw() * range)) - pixels;
  };
  const int64_t down = shift(), right = shift();
  const Pixels old(image);
  fill(image, [&](int64_t y, int64_t x, int64_t channel) {
    const int64_t from_y = y - down, from_x = x - right;
    const bool inside = from_y >= 0 && from_y < image.shape.height && from_x >= 0 && from_x < image.shape.width;
    return inside ? old(from_y, from_x, channel) : std::byte{0};
  });
}

// A crop that is wider or higher than the image is cut to it.
void RandomCrop::operator()(AugmentedImage& image) const {
  const double area = min_area + (1 - min_area) * image.draw();
  const double stretch = std::exp(std::log(4.0 / 3) * (2 * image.draw() - 1));
  const auto H = static_cast<double>(image.shape.height), W = static_cast<double>(image.shape.width);
  const double height = std::min(H, H * std::sqrt(area / stretch)), width = std::min(W, W * std::sqrt(area * stretch));
  const double top = (H - height) * image.draw(), left = (W - width) * image.draw();
  const Pixels old(image);
  fill(image, [&](int64_t y, int64_t x, int64_t channel) {
    const Between v = place(y, image.shape.height, top, height), h = place(x, image.shape.width, left, width);
    const auto row = [&](int64_t at) {
      const auto a = static_cast<double>(old(at, h.first, channel)),
                 b = static_cast<double>(old(at, h.second, channel));
      return a + (b - a) * h.part;
    };
    const double value = row(v.first) + (row(v.second) - row(v.first)) * v.part;
    return static_cast<std::byte>(std::lround(value));
  });
}

}  // namespace tenon
