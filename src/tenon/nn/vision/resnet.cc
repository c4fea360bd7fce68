#include "tenon/nn/vision/resnet.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/initializers.h"
#include "tenon/nn/vision/batch_norm.h"

namespace tenon {

TENON_MODULE(ResNet, ImageEncoder, "stages of residual blocks; He et al. 2015", {"stem", "the first convolution"},
             {"norm", "behind the stem"}, {"activation", "behind the stem's norm"},
             {"stem_pool", "makes the image smaller behind the stem; empty: nothing does"},
             {"stem_dim", "channels behind the stem"}, {"block", "what stages are made of"},
             {"depths", "blocks of each stage; a stage has twice the channels of the one before"},
             {"pool", "from the image to a vector"})

namespace {

Conv2D::Config stem_of_imagenet() {
  Conv2D::Config c;
  c.kernel_size = {7, 7};
  c.strides = {2, 2};
  c.padding = pad_all_sides(3);
  c.init = FanInNormal{std::sqrt(2.0)};
  return c;
}

MaxPool::Config pool_of_imagenet() {
  MaxPool::Config c;
  c.window = {3, 3};
  c.strides = {2, 2};
  c.padding = pad_all_sides(1);
  return c;
}

}  // namespace

ResNet::Config::Config()
    : stem(stem_of_imagenet()),
      norm(BatchNorm::Config{}),
      stem_pool(pool_of_imagenet()),
      block(BottleneckBlock::Config{}),
      pool(GlobalAvgPool::Config{}) {}

void ResNet::Config::check(Checker& c) const {
  c.positive("channels", channels);
  c.positive("output_dim", output_dim);
  c.positive("stem_dim", stem_dim);
  const bool deep = std::all_of(depths.begin(), depths.end(), [](int64_t n) { return n >= 1; });
  c.require(!depths.empty() && depths.size() < 32 && deep, "depths", "must be 1 to 31 positive numbers, one a stage");
  if (depths.empty() || depths.size() >= 32) return;
  c.require(output_dim % (int64_t{1} << (depths.size() - 1)) == 0, "output_dim",
            "must be divisible by 2 as often as there are stages behind the first");
}

ResNet::ResNet(const Config& c)
    : ImageEncoder(c),
      channels_(c.channels),
      activation_(c.activation),
      image_partition_(c.image_partition),
      stem_(this, "stem", c.stem,
            [&](Conv2D::Config& s) {
              s.input_dim = c.channels;
              s.output_dim = c.stem_dim;
            }),
      norm_(this, "norm", c.norm, [&](Norm::Config& n) { n.input_dim = c.stem_dim; }),
      pool_(this, "pool", c.pool) {
  if (c.stem_pool) stem_pool_.emplace(this, "stem_pool", *c.stem_pool);
  add_stages(c);
}

void ResNet::add_stages(const Config& c) {
  const auto last = static_cast<int64_t>(c.depths.size()) - 1;
  int64_t input_dim = c.stem_dim;
  for (int64_t stage = 0; stage <= last; ++stage) {
    for (int64_t i = 0; i < c.depths[static_cast<size_t>(stage)]; ++i) {
      blocks_.emplace_back(this, fmt::format("stage{}_block{}", stage + 1, i + 1), c.block,
                           [&](ResidualBlock::Config& block) {
                             block.input_dim = input_dim;
                             block.output_dim = c.output_dim >> (last - stage);
                             block.stride = stage > 0 && i == 0 ? 2 : 1;
                           });
      input_dim = c.output_dim >> (last - stage);
    }
  }
}

Tensor ResNet::forward(const Tensor& images) const {
  check_images(images, channels_);
  Tensor x = activation_(norm_(stem_(images)));
  if (stem_pool_) x = (*stem_pool_)(x);
  for (const auto& block : blocks_) x = block(shard(x, image_partition_));
  return pool_(x);
}

}  // namespace tenon
