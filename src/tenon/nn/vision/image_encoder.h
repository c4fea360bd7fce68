#pragma once

#include "tenon/nn/module.h"

namespace tenon {

// From images to a vector each.
class ImageEncoder : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> channels, output_dim;
    TENON_FIELDS(channels, output_dim)
  };
  // Images [B,H,W,channels] of floats -> [B,output_dim].
  virtual Tensor forward(const Tensor& images) const = 0;

 protected:
  explicit ImageEncoder(const Config& config) : Module(config) {}
};

}  // namespace tenon
