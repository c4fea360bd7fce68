#include "tenon/experiments/digits.h"

#include <algorithm>

#include "tenon/config/define.h"
#include "tenon/data/image_dataset.h"
#include "tenon/experiments/experiment.h"
#include "tenon/nn/vision/image_classifier.h"
#include "tenon/nn/vision/resnet.h"
#include "tenon/optim/adamw.h"
#include "tenon/optim/learner.h"

namespace tenon {

TENON_FN_TYPE(Digits, Trainer::Config(), "a small ResNet of images of digits",
              {"depths", "residual blocks of each stage"},
              {"feature_dim", "channels of the last stage; each one before has half"},
              {"batch_size", "images in a step"},
              {"max_steps", "steps in all; the learning rate's schedule ends there too"},
              {"peak_learning_rate", "after the first tenth of the steps"},
              {"eval_fraction", "the part of the images that is kept for evaluation"},
              {"data_path", "8 x 8 images of 10 digits: a .csv or .csv.gz, or a folder with images.npy and labels.npy"})

void Digits::check(Checker& c) const {
  c.require(!depths.empty() && depths.size() <= 3, "depths", "must be of 1 to 3 stages: images are 8 x 8");
  c.positive("feature_dim", feature_dim);
  c.positive("batch_size", batch_size);
  c.positive("max_steps", max_steps);
  c.at_least("peak_learning_rate", peak_learning_rate, 0);
}

namespace {

ImageClassifier::Config model(const Digits& args) {
  ResNet::Config encoder;
  Conv2D::Config& stem = encoder.stem.as<Conv2D>();
  stem.kernel_size = {3, 3};
  stem.strides = {1, 1};
  stem.padding = pad_all_sides(1);
  encoder.stem_pool.reset();
  encoder.stem_dim = std::max<int64_t>(args.feature_dim >> (args.depths.size() - 1), 1);
  encoder.block = BasicBlock::Config();
  encoder.depths = args.depths;
  ImageClassifier::Config c;
  c.height = c.width = 8;
  c.channels = 1;
  c.num_classes = 10;
  c.feature_dim = args.feature_dim;
  c.pixels = {.scale = 1.0 / 16, .mean = {0.3}, .deviation = {0.4}};
  c.encoder = encoder;
  return c;
}

}  // namespace

Trainer::Config Digits::operator()() const {
  Trainer::Config c;
  c.model = model(*this);
  c.max_steps = max_steps;
  c.log_every_n_steps = std::max<int64_t>(max_steps / 20, 1);
  Learner::Config learner;
  learner.learning_rate = CosineWithWarmup{
      .peak = peak_learning_rate, .warmup_steps = max_steps / 10, .total_steps = max_steps, .final_ratio = 0.01};
  AdamW::Config adamw;
  adamw.b2 = 0.99;
  learner.optimizer = adamw;
  c.learner = learner;
  ImageDataset::Config data;
  data.path = data_path;
  data.batch_size = batch_size;
  data.height = data.width = 8;
  data.num_classes = 10;
  data.eval_fraction = eval_fraction;
  data.augment = {RandomShift{.pixels = 1}};
  c.data = data;
  return c;
}

void register_digits(ExperimentRegistry& registry) {
  registry.add({"digits", "a small ResNet on scikit-learn's digits, a minute on a CPU", Digits{}});
}

}  // namespace tenon
