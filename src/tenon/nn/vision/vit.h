#pragma once

#include "tenon/nn/language/decoder.h"
#include "tenon/nn/position/position_embedding.h"
#include "tenon/nn/vision/image_encoder.h"
#include "tenon/nn/vision/patch_embedding.h"

namespace tenon {

// What a ViT gives of its tokens: a learned one in front of the patches, or the mean over the patches.
enum class ViTPooling : uint8_t { class_token, mean };
TENON_ENUM(ViTPooling, class_token, mean)

// Patches of an image as the tokens of a transformer that looks all ways (Dosovitskiy et al. 2020). Its width is
// output_dim.
class ViT final : public ImageEncoder {
 public:
  struct Config : ImageEncoder::Config {
    Slot<PatchEmbedding> patches;
    Slot<PositionEmbedding> position_embedding;  // of the class token, if there is one, and of each patch
    Slot<Decoder> layers;
    ViTPooling pooling = ViTPooling::class_token;
    PartitionSpec activation_partition = {{"data", "expert", "fsdp"}, {}, {}};
    Config();  // layers: pre-norm, GELU, biases, LayerNorm, attention from each to each
    void check(Checker& c) const;
    TENON_CONFIG(patches, position_embedding, layers, pooling, activation_partition)
  };
  explicit ViT(const Config& config);
  // Throws `invalid_argument` when there are more tokens than positions.
  Tensor forward(const Tensor& images) const override;

 private:
  ViTPooling pooling_;
  PartitionSpec activation_partition_;
  Child<PatchEmbedding> patches_;
  std::optional<Param> class_token_;  // [output_dim]
  Child<PositionEmbedding> position_embedding_;
  Child<Decoder> layers_;
};

}  // namespace tenon
