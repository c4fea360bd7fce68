// Classifiers of ImageNet's 1000 classes, as published.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/trainer/trainer.h"

namespace tenon {

class ExperimentRegistry;

// Where the images are: folders with images.npy and labels.npy (docs/images.md), height and width 224.
struct ImageNetPaths {
  std::string train = "data/imagenet/train", eval = "data/imagenet/val";
  TENON_FIELDS(train, eval)
  bool operator==(const ImageNetPaths&) const = default;
};

// ResNet-50 (He et al. 2015) with the stride in the 3 x 3 convolutions, trained as in Goyal et al. 2017, section 5.1.
struct ImageNetResNet {
  std::vector<int64_t> depths = {3, 4, 6, 3};
  bool bottleneck = true;  // if not, BasicBlock
  int64_t batch_size = 256, epochs = 90, warmup_epochs = 5;
  double peak_learning_rate = 0.1;  // for each 256 images of a batch
  ImageNetPaths data;
  void check(Checker& c) const;
  TENON_FN(depths, bottleneck, batch_size, epochs, warmup_epochs, peak_learning_rate, data)
  Trainer::Config operator()() const;
};

// ViT-B/16 (Dosovitskiy et al. 2020, table 1), trained on ImageNet from the start (table 3).
struct ImageNetViT {
  int64_t num_layers = 12, model_dim = 768, num_heads = 12, hidden_dim = 3072, patch_size = 16;
  double dropout = 0.1;
  int64_t batch_size = 4096, epochs = 300, warmup_steps = 10000;
  double peak_learning_rate = 3e-3;
  ImageNetPaths data;
  void check(Checker& c) const;
  TENON_FN(num_layers, model_dim, num_heads, hidden_dim, patch_size, dropout, batch_size, epochs, warmup_steps,
           peak_learning_rate, data)
  Trainer::Config operator()() const;
};

// resnet50 and vit_b16.
void register_imagenet(ExperimentRegistry& registry);

}  // namespace tenon
