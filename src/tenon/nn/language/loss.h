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

// -log softmax(logits)[label], in f32.
class CrossEntropy final : public TokenLoss {
 public:
  struct Config : TokenLoss::Config {
    TENON_CONFIG()
  };
  explicit CrossEntropy(const Config& config) : TokenLoss(config) {}
  LossSum forward(const Tensor& logits, const Tensor& labels) const override;
};

}  // namespace tenon
