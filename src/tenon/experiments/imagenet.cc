#include "tenon/experiments/imagenet.h"

#include <limits>

#include "tenon/config/define.h"
#include "tenon/data/image_dataset.h"
#include "tenon/experiments/experiment.h"
#include "tenon/nn/basic/dropout.h"
#include "tenon/nn/vision/batch_norm.h"
#include "tenon/nn/vision/image_classifier.h"
#include "tenon/nn/vision/resnet.h"
#include "tenon/nn/vision/vit.h"
#include "tenon/optim/adamw.h"
#include "tenon/optim/learner.h"
#include "tenon/optim/sgd.h"

namespace tenon {

TENON_FN_TYPE(ImageNetResNet, Trainer::Config(), "a ResNet of ImageNet", {"depths", "residual blocks of each stage"},
              {"bottleneck", "whether blocks are bottlenecks; if not, basic"}, {"batch_size", "images in a step"},
              {"epochs", "rounds through the images in all"}, {"warmup_epochs", "of them with a rising learning rate"},
              {"peak_learning_rate", "for each 256 images of a batch"}, {"data", "folders of images"})
TENON_FN_TYPE(ImageNetViT, Trainer::Config(), "a ViT of ImageNet", {"num_layers", "layers"},
              {"model_dim", "width of the residual stream"}, {"num_heads", "attention heads"},
              {"hidden_dim", "width inside a feed-forward"}, {"patch_size", "pixels of a patch in height and width"},
              {"dropout", "share that is dropped behind each branch and inside feed-forwards"},
              {"batch_size", "images in a step"}, {"epochs", "rounds through the images in all"},
              {"warmup_steps", "steps with a rising learning rate"}, {"peak_learning_rate", "after the warmup"},
              {"data", "folders of images"})

namespace {

constexpr int64_t kTrainImages = 1281167, kSize = 224, kClasses = 1000;

int64_t steps_of(int64_t epochs, int64_t batch_size) { return (epochs * kTrainImages - 1) / batch_size + 1; }

ImageClassifier::Config classifier(const Slot<ImageEncoder>& encoder, int64_t feature_dim) {
  ImageClassifier::Config c;
  c.height = c.width = kSize;
  c.channels = 3;
  c.num_classes = kClasses;
  c.feature_dim = feature_dim;
  c.encoder = encoder;
  return c;
}

ImageDataset::Config images(const ImageNetPaths& paths, int64_t batch_size) {
  ImageDataset::Config c;
  c.path = paths.train;
  c.eval_path = paths.eval;
  c.eval_fraction = 0;
  c.batch_size = batch_size;
  c.height = c.width = kSize;
  c.channels = 3;
  c.num_classes = kClasses;
  c.augment = {RandomCrop{}, RandomFlip{}};
  return c;
}

Trainer::Config training(const ImageNetPaths& paths, int64_t batch_size, int64_t epochs) {
  Trainer::Config c;
  c.data = images(paths, batch_size);
  c.max_steps = steps_of(epochs, batch_size);
  c.log_every_n_steps = 100;
  c.eval_every_n_steps = c.save_every_n_steps = steps_of(1, batch_size);
  return c;
}

void check_training(Checker& c, int64_t batch_size, int64_t epochs, double peak_learning_rate) {
  c.positive("batch_size", batch_size);
  c.at_most("batch_size", batch_size, int64_t{1} << 20);
  c.positive("epochs", epochs);
  c.at_most("epochs", epochs, int64_t{1} << 20);
  c.at_least("peak_learning_rate", peak_learning_rate, 0);
}

}  // namespace

void ImageNetResNet::check(Checker& c) const {
  check_training(c, batch_size, epochs, peak_learning_rate);
  c.at_least("warmup_epochs", warmup_epochs, 0);
  c.at_most("warmup_epochs", warmup_epochs, epochs);
}

Trainer::Config ImageNetResNet::operator()() const {
  ResNet::Config encoder;
  encoder.depths = depths;
  if (!bottleneck) encoder.block = BasicBlock::Config();
  encoder.block->last_norm.as<BatchNorm>().initial_scale = 0;
  Trainer::Config c = training(data, batch_size, epochs);
  ImageClassifier::Config model = classifier(encoder, bottleneck ? 2048 : 512);
  model.pixels.mean = {0.485, 0.456, 0.406};
  model.pixels.deviation = {0.229, 0.224, 0.225};
  c.model = model;
  // Published: 1e-4, added to the gradient. Momentum makes that 1e-4 / (1 - 0.9) of the parameter for each step.
  Sgd::Config sgd;
  sgd.nesterov = true;
  sgd.weight_decay = 1e-3;
  Learner::Config learner;
  learner.optimizer = sgd;
  learner.clip_global_norm = std::numeric_limits<double>::infinity();
  const auto at = [&](int64_t epoch) { return steps_of(epoch * epochs, batch_size * 90); };
  learner.learning_rate = Stepwise{.peak = peak_learning_rate * static_cast<double>(batch_size) / 256,
                                   .warmup_steps = warmup_epochs > 0 ? steps_of(warmup_epochs, batch_size) : 0,
                                   .boundaries = {at(30), at(60), at(80)},
                                   .ratios = {0.1, 0.01, 0.001}};
  c.learner = learner;
  return c;
}

void ImageNetViT::check(Checker& c) const {
  check_training(c, batch_size, epochs, peak_learning_rate);
  c.positive("num_layers", num_layers);
  c.positive("model_dim", model_dim);
  c.positive("num_heads", num_heads);
  c.positive("hidden_dim", hidden_dim);
  c.require(patch_size >= 1 && kSize % patch_size == 0, "patch_size", "must divide 224");
  check_rate(c, "dropout", dropout);
}

Trainer::Config ImageNetViT::operator()() const {
  ViT::Config encoder;
  encoder.patches.as<PatchEmbedding>().patch_size = patch_size;
  const int64_t side = kSize / patch_size;
  encoder.position_embedding.as<LearnedPositions>().max_positions = side * side + 1;
  Decoder::Config& layers = encoder.layers.as<Decoder>();
  layers.num_layers = num_layers;
  DecoderLayer::Config& layer = layers.pattern[0].as<DecoderLayer>();
  layer.attention.as<MultiheadAttention>().num_heads = num_heads;
  PlainFeedForward::Config& feed_forward = layer.feed_forward.as<PlainFeedForward>();
  feed_forward.hidden_dim = hidden_dim;
  feed_forward.dropout = dropout;
  DropoutResidual::Config residual;
  residual.rate = dropout;
  residual.residual = layer.residual;
  layer.residual = residual;
  Trainer::Config c = training(data, batch_size, epochs);
  ImageClassifier::Config model = classifier(encoder, model_dim);
  model.pixels.mean = model.pixels.deviation = {0.5, 0.5, 0.5};
  c.model = model;
  AdamW::Config adamw;
  adamw.b2 = 0.999;
  adamw.weight_decay = 0.3;
  Learner::Config learner;
  learner.optimizer = adamw;
  learner.learning_rate = CosineWithWarmup{
      .peak = peak_learning_rate, .warmup_steps = warmup_steps, .total_steps = c.max_steps, .final_ratio = 0};
  c.learner = learner;
  return c;
}

void register_imagenet(ExperimentRegistry& registry) {
  registry.add({"resnet50", "ResNet-50 on ImageNet, as published", ImageNetResNet{}});
  registry.add({"vit_b16", "ViT-B/16 on ImageNet, as published", ImageNetViT{}});
}

}  // namespace tenon
