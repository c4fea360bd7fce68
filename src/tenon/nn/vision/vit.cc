#include "tenon/nn/vision/vit.h"

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/initializers.h"

namespace tenon {

TENON_MODULE(ViT, ImageEncoder, "patches of an image as the tokens of a transformer; Dosovitskiy et al. 2020",
             {"patches", "from the image to its tokens"},
             {"position_embedding", "added to the class token, if there is one, and to each patch"},
             {"layers", "a stack that looks all ways"},
             {"pooling", "class_token: what becomes of a learned token in front; mean: of all patches"})

namespace {

Decoder::Config encoder_layers() {
  Decoder::Config c = encoder_stack();
  DecoderLayer::Config& layer = c.pattern[0].as<DecoderLayer>();
  MultiheadAttention::Config& attention = layer.attention.as<MultiheadAttention>();
  LinearQkv::Config qkv;
  qkv.linear.as<Linear>().bias = true;
  attention.qkv = qkv;
  attention.output.as<Linear>().bias = true;
  PlainFeedForward::Config feed_forward;
  feed_forward.up.as<Linear>().bias = true;
  feed_forward.down.as<Linear>().bias = true;
  layer.feed_forward = feed_forward;
  LayerNorm::Config norm;
  norm.eps = 1e-6;
  layer.residual.as<PreNormResidual>().norm = norm;
  c.norm = norm;
  return c;
}

}  // namespace

ViT::Config::Config()
    : patches(PatchEmbedding::Config{}), position_embedding(LearnedPositions::Config{}), layers(encoder_layers()) {}

void ViT::Config::check(Checker& c) const {
  c.positive("channels", channels);
  c.positive("output_dim", output_dim);
}

ViT::ViT(const Config& config)
    : ImageEncoder(config),
      pooling_(config.pooling),
      activation_partition_(config.activation_partition),
      patches_(this, "patches", config.patches,
               [&](PatchEmbedding::Config& p) {
                 p.channels = config.channels;
                 p.output_dim = config.output_dim;
               }),
      position_embedding_(this, "position_embedding", config.position_embedding,
                          [&](PositionEmbedding::Config& p) { p.input_dim = config.output_dim; }),
      layers_(this, "layers", config.layers, [&](Decoder::Config& d) { d.input_dim = config.output_dim; }) {
  if (pooling_ != ViTPooling::class_token) return;
  class_token_.emplace(this, "class_token", Dims{config.output_dim}, ParamSpec{{}, Constant{0}, 0});
}

Tensor ViT::forward(const Tensor& images) const {
  Tensor x = patches_(images);
  const int64_t B = x.dim(0), D = x.dim(2);
  if (class_token_) {
    const Tensor first = broadcast_in_dim(*class_token_, {B, 1, D}, {2});
    x = concatenate(std::vector<Tensor>{convert(first, x.dtype()), x}, 1);
  }
  position_embedding_.call(&PositionEmbedding::check_length, x.dim(1));
  const TensorType ids{DType::i32, {B, x.dim(1)}};
  const SequenceInfo info{iota(ids, 1), zeros(ids), {}};
  const Tensor y = layers_(shard(x + position_embedding_(info.positions), activation_partition_), info);
  if (class_token_) return reshape(slice_dim(y, 1, 0, 1), {B, D});
  return convert(mean(widen(y), {1}), y.dtype());
}

}  // namespace tenon
