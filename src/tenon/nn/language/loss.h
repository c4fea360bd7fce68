#pragma once

#include "tenon/nn/model.h"

namespace tenon {

class TokenLoss : public Module {
 public:
  struct Config : Module::Config {
    TENON_FIELDS()
  };
  // logits [..., V], labels i32 [...]; labels below 0 don't count. A label of V or more gives NaN.
  virtual LossSum forward(const Tensor& logits, const Tensor& labels) const = 0;

 protected:
  explicit TokenLoss(const Config& config) : Module(config) {}
};

// -log softmax(logits)[label], in f32. In training, two terms may be added, which summaries then leave out of
// "cross_entropy"; evaluations measure without them, and give the summary "accuracy": how often the label's logit is
// the largest.
class CrossEntropy final : public TokenLoss {
 public:
  struct Config : TokenLoss::Config {
    // Of the label's probability, the part that all V tokens share (Szegedy et al. 2016, section 7): the loss is
    // (1 - s) -log p[label] + s mean(-log p).
    double label_smoothing = 0;
    // Times log(sum(exp(logits)))^2 (Chowdhery et al. 2022, "PaLM", section 5, who use 1e-4).
    double z_loss = 0;
    void check(Checker& c) const;
    TENON_CONFIG(label_smoothing, z_loss)
  };
  explicit CrossEntropy(const Config& config)
      : TokenLoss(config), label_smoothing_(config.label_smoothing), z_loss_(config.z_loss) {}
  LossSum forward(const Tensor& logits, const Tensor& labels) const override;

 private:
  double label_smoothing_, z_loss_;
};

// f32 [B]: how many of the labels i32 [B,T] count (aren't below 0).
Tensor live_tokens(const Tensor& labels);

}  // namespace tenon
