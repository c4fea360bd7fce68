// A small model, a text and a trainer for tests.
#pragma once

#include <string>

#include "tenon/nn/model.h"
#include "tenon/nn/transformer/layers.h"
#include "tenon/trainer/trainer.h"

namespace tenon {

// (x + tanh(x w + b)) * gain.
class TinyLayer final : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> dim;
    double gain = 1;
    TENON_CONFIG(dim, gain)
  };
  explicit TinyLayer(const Config& config);
  Tensor forward(const Tensor& x) const;

 private:
  double gain_;
  Param w_, b_;
};

// Predicts the next byte from this one: embedding, layers, logits. Its state counts the tokens it has seen.
class TinyModel final : public Model {
 public:
  struct Config : Model::Config {
    Config();
    int64_t dim = 8;
    int64_t repeats = 2;  // of a pattern of two layers
    StackForm form = StackForm::scan;
    // A batch with this token in it has a loss of NaN.
    int64_t poison = -1;
    double gain = 1;  // of every layer
    TENON_CONFIG(dim, repeats, form, poison, gain)
  };
  explicit TinyModel(const Config& config);
  LossSum forward(const Nest& batch) const override;

 private:
  int64_t poison_;
  Param embedding_, out_;
  State seen_;
  Layers<TinyLayer> layers_;
};

inline constexpr int64_t kVocab = 259;  // divides by nothing

// 40 steps of a TinyModel on `text_file`, 8 x 16 tokens each.
Trainer::Config tiny_config(const std::string& text_file);
// Writes a text of a few thousand bytes with some order in it.
void write_tiny_text(const std::string& path);
// Puts everything the configs name into the global registry.
void register_tiny();

}  // namespace tenon
