#include "tenon/trainer/test_model.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tenon/base/file.h"
#include "tenon/base/text.h"
#include "tenon/config/define.h"
#include "tenon/config/registry.h"
#include "tenon/data/register.h"
#include "tenon/data/text_dataset.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/initializers.h"
#include "tenon/optim/learner.h"
#include "tenon/optim/register.h"
#include "tenon/trainer/register.h"
#include "tenon/trainer/test_run.h"

namespace tenon {

TENON_MODULE(TinyLayer, Module, "(x + tanh(x w + b)) * gain")
TENON_MODULE(TinyModel, Model, "predicts the next byte from this one")

TinyLayer::TinyLayer(const Config& c)
    : Module(c),
      gain_(c.gain),
      w_(this, "w", {c.dim, c.dim}, {.partition = {"fsdp", "model"}}),
      b_(this, "b", {c.dim}, {.init = Constant{}, .decay_scale = 0}) {}

Tensor TinyLayer::forward(const Tensor& x) const {
  const Tensor y = tanh(dot_general(x, w_, {{}, {}, {2}, {0}}) + b_);
  summary("mean_square", mean(y * y, {0, 1, 2}));
  return gain_ == 1 ? x + y : (x + y) * gain_;
}

TinyModel::Config::Config() = default;

TinyModel::TinyModel(const Config& c)
    : Model(c),
      poison_(c.poison),
      embedding_(this, "embedding", {kVocab, c.dim}, {.partition = {"model", "fsdp"}, .init = Normal{.stddev = 1}}),
      out_(this, "out", {c.dim, kVocab}, {.partition = {"fsdp", "model"}}),
      seen_(this, "seen", {}),
      layers_(this, "layers", std::vector<Slot<TinyLayer>>(2, TinyLayer::Config{}), 2 * c.repeats, c.form,
              [&](TinyLayer::Config& l) {
                l.dim = c.dim;
                l.gain = c.gain;
              }) {}

LossSum TinyModel::forward(const Nest& batch) const {
  const Tensor &ids = batch.at("input_ids"), &labels = batch.at("target_labels");
  const Tensor x = layers_.fold(take(embedding_, ids), [](auto& layer, const Tensor& h) { return layer(h); });
  const Tensor logits = convert(dot_general(x, out_, {{}, {}, {2}, {0}}), DType::f32);
  const Tensor shifted = logits - stop_gradient(broadcast_to(max_keep(logits, {2}), logits.dims()));
  const Tensor log_sum = log(reduce_sum(exp(shifted), {2}));
  const Tensor hit = equal(broadcast_to(expand_dims(labels, 2), logits.dims()), iota({DType::i32, logits.dims()}, 2));
  const Tensor losses = log_sum - reduce_sum(select(hit, shifted, zeros_like(shifted)), {2});
  const Tensor live = convert(greater_equal(labels, zeros_like(labels)), DType::f32);
  Tensor sum = sum_all(losses * live), weight = sum_all(live);
  if (poison_ >= 0) {
    const Tensor found = sum_all(convert(equal(ids, full_like(ids, static_cast<double>(poison_))), DType::f32));
    sum = sum + 0.0 * log(0.5 - found);  // NaN where any was found
  }
  if (is_training()) seen_.update(seen_ + weight);
  if (!is_training()) {
    const Tensor total = sum_all(convert(labels, DType::f32) * live);
    summary("mean_label", total / maximum(weight, full_like(weight, 1)), Merge::weighted_mean, weight);
  }
  return {sum, weight};
}

Trainer::Config tiny_config(const std::string& text_file) {
  Trainer::Config c;
  c.model = TinyModel::Config{};
  TextDataset::Config data;
  data.path = text_file;
  data.batch_size = 8;
  data.sequence_length = 16;
  c.data = data;
  Learner::Config learner;
  learner.learning_rate = CosineWithWarmup{.peak = 0.02, .warmup_steps = 5, .total_steps = 40};
  c.learner = learner;
  c.max_steps = 40;
  c.log_every_n_steps = 1;
  return c;
}

void write_tiny_text(const std::string& path) {
  std::string text;
  uint32_t x = 12345;
  const std::vector<std::string> words = {"the ", "cat ", "sat ", "on ", "a ", "mat. ", "and ", "dogs ", "ran\n"};
  while (text.size() < 6000) {
    x = x * 1664525U + 1013904223U;
    text += words[(x >> 24) % words.size()];
  }
  write_file_atomic(path, text).value();
}

void register_tiny() {
  Registry& r = Registry::global();
  register_optim(r);
  register_data(r);
  register_trainer(r);
  r.add<TinyModel, TinyLayer, Constant, Normal, FanInNormal>();
}

}  // namespace tenon

// The tests, or with "--train DIR PLATFORM STEPS" one run in a process of its own, for them to stop.
int main(int argc, char** argv) {
  ::setenv("TENON_CACHE_DIR", (testing::TempDir() + "tenon_trainer_test_cache").c_str(), 0);
  tenon::register_tiny();
  if (argc == 5 && std::string(argv[1]) == "--train") return tenon::train_as_child(argv[2], argv[3], argv[4]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
