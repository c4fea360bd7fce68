#pragma once

#include "tenon/nn/module.h"

namespace tenon {

// From images to a vector each.
class ImageEncoder : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> height, width, channels, output_dim;
    TENON_FIELDS(height, width, channels, output_dim)
  };
  // Images [B, height, width, channels] of floats -> [B, output_dim].
  virtual Tensor forward(const Tensor& images) const = 0;

 protected:
  explicit ImageEncoder(const Config& config) : Module(config) {}
};

}  // namespace tenon
