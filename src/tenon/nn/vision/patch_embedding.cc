#include "tenon/nn/vision/patch_embedding.h"

#include <fmt/format.h>

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/vision/window.h"

namespace tenon {

TENON_MODULE(PatchEmbedding, Module, "a linear layer of each patch of an image; Dosovitskiy et al. 2020",
             {"channels", "of the image"}, {"output_dim", "of a patch's vector"},
             {"patch_size", "elements of a patch in height and in width"}, {"linear", "of the patch's elements"})

PatchEmbedding::Config::Config() : linear(Linear::Config{}) { linear.as<Linear>().bias = true; }

void PatchEmbedding::Config::check(Checker& c) const {
  c.positive("channels", channels);
  c.positive("output_dim", output_dim);
  c.positive("patch_size", patch_size);
}

PatchEmbedding::PatchEmbedding(const Config& config)
    : Module(config),
      channels_(config.channels),
      patch_size_(config.patch_size),
      linear_(this, "linear", config.linear, [&](Linear::Config& l) {
        l.input_dim = config.patch_size * config.patch_size * config.channels;
        l.output_dim = config.output_dim;
      }) {}

Tensor PatchEmbedding::forward(const Tensor& images) const {
  check_images(images, channels_);
  const int64_t B = images.dim(0), H = images.dim(1), W = images.dim(2), C = channels_, P = patch_size_;
  if (H % P != 0 || W % P != 0) {
    throw Error(ErrorCode::shape_mismatch, "patches don't cover the image")
        .at(Context::current().path())
        .got(fmt::format("{} in patches of {} x {}", to_string(images.type()), P, P))
        .hint("choose a patch_size that divides height and width");
  }
  const Tensor patches = transpose(reshape(images, {B, H / P, P, W / P, P, C}), {0, 1, 3, 2, 4, 5});
  return linear_(convert(reshape(patches, {B, H / P * (W / P), P * P * C}), Context::current().compute_dtype()));
}

}  // namespace tenon
