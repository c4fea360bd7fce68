#pragma once

#include <optional>
#include <vector>

#include "tenon/nn/vision/image_encoder.h"
#include "tenon/nn/vision/pool.h"
#include "tenon/nn/vision/residual_block.h"

namespace tenon {

// A stem and stages of residual blocks (He et al. 2015, table 1). Each stage but the first begins with a stride of 2
// and has twice the channels of the one before; the last has output_dim.
class ResNet final : public ImageEncoder {
 public:
  struct Config : ImageEncoder::Config {
    Slot<Conv2D> stem;
    Slot<Norm> norm;  // behind the stem
    Activation activation = Relu{};
    std::optional<Slot<Pool>> stem_pool;
    int64_t stem_dim = 64;
    Slot<ResidualBlock> block;
    std::vector<int64_t> depths = {3, 4, 6, 3};  // blocks of each stage
    Slot<GlobalPool> pool;
    PartitionSpec image_partition = {{"data", "expert", "fsdp"}, {}, {}, {}};
    // stem: 7 x 7, stride 2; stem_pool: the largest of 3 x 3, stride 2; block: BottleneckBlock: with output_dim 2048
    // ResNet-50.
    Config();
    void check(Checker& c) const;
    TENON_CONFIG(stem, norm, activation, stem_pool, stem_dim, block, depths, pool, image_partition)
  };
  explicit ResNet(const Config& config);
  Tensor forward(const Tensor& images) const override;

 private:
  void add_stages(const Config& config);
  int64_t channels_;
  Activation activation_;
  PartitionSpec image_partition_;
  Child<Conv2D> stem_;
  Child<Norm> norm_;
  std::optional<Child<Pool>> stem_pool_;
  std::vector<Child<ResidualBlock>> blocks_;  // "stage1_block1", …
  Child<GlobalPool> pool_;
};

}  // namespace tenon
