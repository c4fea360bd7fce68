#include "tenon/nn/language/head.h"

#include "tenon/config/define.h"
#include "tenon/config/number_checks.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/basic/embedding.h"
#include "tenon/nn/initializers.h"
#include "tenon/nn/language/fill.h"

namespace tenon {

TENON_INTERFACE(LmHead, Module, "from hidden states to logits")
TENON_MODULE(TiedHead, LmHead, "the embedding table, shared")
TENON_MODULE(LinearHead, LmHead, "a matrix of its own")
TENON_MODULE(CappedHead, LmHead, "cap * tanh(logits / cap) of another head's logits",
             {"cap", "no logit's magnitude is above it"}, {"head", "whose logits"})

TENON_MODULE(TransformedHead, LmHead, "another head's logits of norm(activation(linear(x)))", {"head", "whose logits"},
             {"bias", "whether each token has a number that is added to its logit"})

Tensor TiedHead::forward(const Tensor& x) const { return Shared<Embedding>("embedding").call(&Embedding::attend, x); }

LinearHead::Config::Config() : linear(Linear::Config{}) {}
LinearHead::LinearHead(const Config& config)
    : LmHead(config), linear_(this, "linear", config.linear, [&](Linear::Config& l) {
        l.input_dim = config.input_dim;
        l.output_dim = config.vocab_size;
      }) {}
Tensor LinearHead::forward(const Tensor& x) const { return linear_(x); }

CappedHead::Config::Config() : head(TiedHead::Config{}) {}
void CappedHead::Config::check(Checker& c) const { check_above_zero(c, "cap", cap); }

CappedHead::CappedHead(const Config& config)
    : LmHead(config),
      cap_(config.cap),
      head_(this, "head", config.head, head_of(config.vocab_size, config.input_dim)) {}

// In f32 at least: near the cap logits of lower precision become equal.
Tensor CappedHead::forward(const Tensor& x) const {
  const Tensor logits = head_(x);
  return tanh(widen(logits) * (1 / cap_)) * cap_;
}

TransformedHead::Config::Config() : linear(Linear::Config{}), norm(LayerNorm::Config{}), head(TiedHead::Config{}) {
  linear.as<Linear>().bias = true;
}

void TransformedHead::Config::check(Checker& c) const {
  c.require(activation.has_value(), "activation", "must be set");
}

TransformedHead::TransformedHead(const Config& config)
    : LmHead(config),
      activation_(config.activation),
      linear_(this, "linear", config.linear,
              [&](Linear::Config& l) {
                l.input_dim = config.input_dim;
                l.output_dim = config.input_dim;
              }),
      norm_(this, "norm", config.norm, of_dim(config.input_dim)),
      head_(this, "head", config.head, head_of(config.vocab_size, config.input_dim)) {
  if (config.bias) bias_.emplace(this, "bias", Dims{*config.vocab_size}, ParamSpec{{"model"}, Constant{0}, 0});
}

Tensor TransformedHead::forward(const Tensor& x) const {
  const Tensor logits = head_(norm_(activation_(linear_(x))));
  return bias_ ? logits + Tensor(*bias_) : logits;
}

}  // namespace tenon
