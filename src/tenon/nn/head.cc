#include "tenon/nn/head.h"

#include "tenon/config/define.h"
#include "tenon/nn/embedding.h"

namespace tenon {

TENON_INTERFACE(LmHead, Module, "from hidden states to logits")
TENON_MODULE(TiedHead, LmHead, "the embedding table, shared")
TENON_MODULE(LinearHead, LmHead, "a matrix of its own")

Tensor TiedHead::forward(const Tensor& x) const { return Shared<Embedding>("embedding").call(&Embedding::attend, x); }

LinearHead::Config::Config() : linear(Linear::Config{}) {}
LinearHead::LinearHead(const Config& config)
    : LmHead(config), linear_(this, "linear", config.linear, [&](Linear::Config& l) {
        l.input_dim = config.input_dim;
        l.output_dim = config.vocab_size;
      }) {}
Tensor LinearHead::forward(const Tensor& x) const { return linear_(x); }

}  // namespace tenon
