// Random changes of training images: functions of the dataset's seed and the image's place in the order.
#pragma once

#include <cstdint>
#include <span>

#include "tenon/config/config.h"
#include "tenon/data/image_store.h"

namespace tenon {

// An image that is being changed, and where its random numbers come from.
struct AugmentedImage {
  ImageShape shape;
  std::span<std::byte> pixels;  // row by row, channels innermost
  uint64_t key = 0;
  uint64_t num_draws = 0;

  // In [0, 1); another one each time.
  double draw();
};
using Augmentation = Fn<void(AugmentedImage&)>;

// Left and right are exchanged in every other image.
struct RandomFlip {
  TENON_FN()
  void operator()(AugmentedImage& image) const;
};
// Moved by up to so many pixels in height and in width; zeros come in (He et al. 2015, section 4.2).
struct RandomShift {
  int64_t pixels = 4;
  void check(Checker& c) const;
  TENON_FN(pixels)
  void operator()(AugmentedImage& image) const;
};
// A part of the image, in the image's size by bilinear interpolation: a share of its area of at least `min_area`, its
// width to its height as the image's times a factor of 3/4 to 4/3 (Szegedy et al. 2014, section 6).
struct RandomCrop {
  double min_area = 0.08;
  void check(Checker& c) const;
  TENON_FN(min_area)
  void operator()(AugmentedImage& image) const;
};

}  // namespace tenon
