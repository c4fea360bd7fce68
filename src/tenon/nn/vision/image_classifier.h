#pragma once

#include <vector>

#include "tenon/nn/basic/linear.h"
#include "tenon/nn/language/loss.h"
#include "tenon/nn/vision/image_encoder.h"

namespace tenon {

// From what a file holds to what a model reads: (pixel * scale - mean) / deviation, channel by channel.
struct PixelScaling {
  double scale = 1.0 / 255;
  std::vector<double> mean;       // of scaled pixels; empty: 0
  std::vector<double> deviation;  // empty: 1
  void check(Checker& c) const;
  TENON_FIELDS(scale, mean, deviation)
  bool operator==(const PixelScaling&) const = default;
};

// An encoder, and a linear layer from its vector to the logits of classes. Its loss counts examples.
class ImageClassifier final : public Model {
 public:
  struct Config : Model::Config {
    Required<int64_t> height, width, channels, num_classes;
    Required<int64_t> feature_dim;  // between encoder and head
    PixelScaling pixels;
    Slot<ImageEncoder> encoder;
    Slot<Linear> head;
    Slot<TokenLoss> loss;
    PartitionSpec image_partition = {{"data", "expert", "fsdp"}, {}, {}, {}};
    Config();  // encoder: ResNet; head: with a bias; loss: CrossEntropy
    void check(Checker& c) const;
    TENON_CONFIG(height, width, channels, num_classes, feature_dim, pixels, encoder, head, loss, image_partition)
  };
  explicit ImageClassifier(const Config& config);
  // batch: images [B, height, width, channels], u8 or floats; labels i32 [B] (below 0: none).
  LossSum forward(const Nest& batch) const override;
  std::string_view unit() const override { return "examples"; }
  std::string_view headline() const override { return "loss.accuracy"; }
  // Logits [B, num_classes] of a batch, in f32 (f64 when computed so).
  Tensor logits(const Nest& batch) const;

 private:
  Tensor scaled(const Tensor& images) const;
  Config config_;
  Child<ImageEncoder> encoder_;
  Child<Linear> head_;
  Child<TokenLoss> loss_;
};

}  // namespace tenon
