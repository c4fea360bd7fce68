#pragma once

#include "tenon/nn/basic/linear.h"

namespace tenon {

// A linear layer of each patch of an image (Dosovitskiy et al. 2020, eq. 1).
class PatchEmbedding final : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> channels, output_dim;
    int64_t patch_size = 16;  // elements in height and in width
    Slot<Linear> linear;
    Config();  // linear: with a bias
    void check(Checker& c) const;
    TENON_CONFIG(channels, output_dim, patch_size, linear)
  };
  explicit PatchEmbedding(const Config& config);
  // Images [B,H,W,channels] -> [B, H / patch_size * W / patch_size, output_dim]: patches row by row; the elements of
  // one row by row, its channels innermost. Throws `shape_mismatch` unless patches cover the image.
  Tensor forward(const Tensor& images) const;

 private:
  int64_t channels_, patch_size_;
  Child<Linear> linear_;
};

}  // namespace tenon
