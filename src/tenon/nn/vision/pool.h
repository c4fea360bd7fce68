// Pooling: each window of an image, or the whole image, as one element a channel.
//
// Letters: B images, H height, W width, C channels.
#pragma once

#include <vector>

#include "tenon/ir/ops/window.h"
#include "tenon/nn/module.h"
#include "tenon/nn/vision/window.h"

namespace tenon {

class Pool : public Module {
 public:
  struct Config : Module::Config {
    std::vector<int64_t> window = {2, 2};
    std::vector<int64_t> strides;  // empty: the window, so that windows don't overlap
    Padding padding = ValidPadding{};
    void check(Checker& c) const;
    TENON_FIELDS(window, strides, padding)
  };
  // x [B,H,W,C] -> [B, windows of height, windows of width, C].
  virtual Tensor forward(const Tensor& x) const = 0;

 protected:
  explicit Pool(const Config& config);
  // The windows over x [B,H,W,C]. Throws `shape_mismatch`.
  WindowDims windows(const Tensor& x) const;

 private:
  Dims window_, strides_;
  Padding padding_;
};

// The largest element of each window; padding is none.
class MaxPool final : public Pool {
 public:
  struct Config : Pool::Config {
    TENON_CONFIG()
  };
  explicit MaxPool(const Config& config) : Pool(config) {}
  Tensor forward(const Tensor& x) const override;
};

// The mean of each window.
class AvgPool final : public Pool {
 public:
  struct Config : Pool::Config {
    // Whether padding counts as zeros; if not, the mean is over the window's part of the image.
    bool count_padding = false;
    TENON_CONFIG(count_padding)
  };
  explicit AvgPool(const Config& config) : Pool(config), count_padding_(config.count_padding) {}
  Tensor forward(const Tensor& x) const override;

 private:
  bool count_padding_;
};

class GlobalPool : public Module {
 public:
  struct Config : Module::Config {
    TENON_FIELDS()
  };
  // x [B,…,C] -> [B,C], in the dtype of `x`. Throws `shape_mismatch` for a rank below 3.
  virtual Tensor forward(const Tensor& x) const = 0;

 protected:
  explicit GlobalPool(const Config& config) : Module(config) {}
};

// The mean over the image, computed in f32 at least (Lin et al. 2013, section 3.2).
class GlobalAvgPool final : public GlobalPool {
 public:
  struct Config : GlobalPool::Config {
    TENON_CONFIG()
  };
  explicit GlobalAvgPool(const Config& config) : GlobalPool(config) {}
  Tensor forward(const Tensor& x) const override;
};

// The largest element of the image.
class GlobalMaxPool final : public GlobalPool {
 public:
  struct Config : GlobalPool::Config {
    TENON_CONFIG()
  };
  explicit GlobalMaxPool(const Config& config) : GlobalPool(config) {}
  Tensor forward(const Tensor& x) const override;
};

}  // namespace tenon
