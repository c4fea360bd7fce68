#pragma once

#include "tenon/nn/basic/activations.h"
#include "tenon/nn/basic/linear.h"
#include "tenon/nn/basic/norm.h"

namespace tenon {

// From hidden states to logits.
class LmHead : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> input_dim, vocab_size;
    TENON_FIELDS(input_dim, vocab_size)
  };
  virtual Tensor forward(const Tensor& x) const = 0;  // [..., D] -> [..., V]

 protected:
  explicit LmHead(const Config& config) : Module(config) {}
};

// The embedding table that a module above shares as "embedding".
class TiedHead final : public LmHead {
 public:
  struct Config : LmHead::Config {
    TENON_CONFIG()
  };
  explicit TiedHead(const Config& config) : LmHead(config) {}
  Tensor forward(const Tensor& x) const override;
};

// A matrix of its own.
class LinearHead final : public LmHead {
 public:
  struct Config : LmHead::Config {
    Slot<Linear> linear;
    Config();
    TENON_CONFIG(linear)
  };
  explicit LinearHead(const Config& config);
  Tensor forward(const Tensor& x) const override;

 private:
  Child<Linear> linear_;
};

// cap * tanh(logits / cap) of another head's logits (Gemma 2, 2024).
class CappedHead final : public LmHead {
 public:
  struct Config : LmHead::Config {
    double cap = 30;
    Slot<LmHead> head;
    Config();  // head: TiedHead
    void check(Checker& c) const;
    TENON_CONFIG(cap, head)
  };
  explicit CappedHead(const Config& config);
  Tensor forward(const Tensor& x) const override;

 private:
  double cap_;
  Child<LmHead> head_;
};

// Another head's logits of norm(activation(linear(x))), and a bias for each token (Devlin et al. 2019, as released).
class TransformedHead final : public LmHead {
 public:
  struct Config : LmHead::Config {
    Slot<Linear> linear;
    Activation activation = Gelu{};
    Slot<Norm> norm;
    Slot<LmHead> head;
    bool bias = true;
    Config();  // linear: with a bias; norm: LayerNorm; head: TiedHead
    void check(Checker& c) const;
    TENON_CONFIG(linear, activation, norm, head, bias)
  };
  explicit TransformedHead(const Config& config);
  Tensor forward(const Tensor& x) const override;

 private:
  Activation activation_;
  Child<Linear> linear_;
  Child<Norm> norm_;
  Child<LmHead> head_;
  std::optional<Param> bias_;
};

}  // namespace tenon
