#include "tenon/nn/vision/image_classifier.h"

#include <fmt/format.h>

#include "tenon/config/define.h"
#include "tenon/config/number_checks.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/experts/auxiliary_loss.h"
#include "tenon/nn/vision/resnet.h"

namespace tenon {

TENON_MODULE(ImageClassifier, Model, "an encoder of images and a linear layer to the logits of classes",
             {"height", "rows of an image"}, {"width", "columns of an image"}, {"channels", "numbers of a pixel"},
             {"num_classes", "labels there are"}, {"feature_dim", "between encoder and head"},
             {"pixels", "from what a file holds to what the encoder reads"}, {"loss", "of each image"})

void PixelScaling::check(Checker& c) const {
  check_above_zero(c, "scale", scale);
  for (const double m : mean) check_finite(c, "mean", m);
  for (const double d : deviation) check_above_zero(c, "deviation", d);
}

ImageClassifier::Config::Config() : encoder(ResNet::Config{}), head(Linear::Config{}), loss(CrossEntropy::Config{}) {
  head.as<Linear>().bias = true;
}

void ImageClassifier::Config::check(Checker& c) const {
  c.positive("height", height);
  c.positive("width", width);
  c.positive("channels", channels);
  c.positive("num_classes", num_classes);
  c.positive("feature_dim", feature_dim);
  const auto fits = [&](const std::vector<double>& values) {
    return values.empty() || static_cast<int64_t>(values.size()) == channels;
  };
  c.require(fits(pixels.mean), "pixels.mean", "must have one number a channel, or none");
  c.require(fits(pixels.deviation), "pixels.deviation", "must have one number a channel, or none");
}

ImageClassifier::ImageClassifier(const Config& c)
    : Model(c),
      config_(c),
      encoder_(this, "encoder", c.encoder,
               [&](ImageEncoder::Config& e) {
                 e.channels = c.channels;
                 e.output_dim = c.feature_dim;
               }),
      head_(this, "head", c.head,
            [&](Linear::Config& h) {
              h.input_dim = c.feature_dim;
              h.output_dim = c.num_classes;
            }),
      loss_(this, "loss", c.loss) {}

namespace {

// The array `name` of a batch, of these dimensions and, where it isn't pixels, i32.
const Tensor& array_of(const Nest& batch, const char* name, bool pixels, const Dims& dims) {
  const auto it = batch.find(name);
  if (it == batch.end()) throw Error(ErrorCode::missing_field, "the batch lacks this array").at(name);
  const TensorType type = it->second.type();
  const bool fits = pixels ? type.dtype == DType::u8 || is_float(type.dtype) : type.dtype == DType::i32;
  if (fits && type.dims == dims) return it->second;
  throw Error(ErrorCode::shape_mismatch, "an array of the batch")
      .at(name)
      .got(to_string(type))
      .expected(fmt::format("{} {}", pixels ? "u8 or floats" : "i32", to_string(dims)));
}

Tensor channels_of(const std::vector<double>& values, DType dtype) {
  return constant(Literal::from(dtype, {static_cast<int64_t>(values.size())}, values));
}

}  // namespace

Tensor ImageClassifier::scaled(const Tensor& images) const {
  const DType wide = wide_dtype(Context::current().compute_dtype());
  Tensor x = convert(images, wide) * config_.pixels.scale;
  if (!config_.pixels.mean.empty()) x = x - channels_of(config_.pixels.mean, wide);
  if (!config_.pixels.deviation.empty()) x = x / channels_of(config_.pixels.deviation, wide);
  return convert(x, Context::current().compute_dtype());
}

Tensor ImageClassifier::logits(const Nest& batch) const {
  const auto it = batch.find("images");
  const int64_t B = it != batch.end() && it->second.rank() > 0 ? it->second.dim(0) : 0;
  const Tensor& images = array_of(batch, "images", true, {B, config_.height, config_.width, config_.channels});
  const Tensor y = head_(encoder_(shard(scaled(images), config_.image_partition)));
  return widen(y);
}

LossSum ImageClassifier::forward(const Nest& batch) const {
  const Tensor y = logits(batch);
  const Tensor& labels = array_of(batch, "labels", false, {y.dim(0)});
  const LossSum loss = loss_(y, labels);
  return add_auxiliary_losses(loss, convert(greater_equal(labels, zeros_like(labels)), DType::f32));
}

}  // namespace tenon
