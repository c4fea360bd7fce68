// What models of tokens set of their embedding and head, for Child's `fill`.
#pragma once

#include "tenon/nn/basic/embedding.h"
#include "tenon/nn/fill.h"
#include "tenon/nn/language/head.h"

namespace tenon {

// A row of size `dim` for each of the tokens.
inline auto vocab_by_dim(Required<int64_t> vocab_size, Required<int64_t> dim) {
  return [vocab_size, dim](Embedding::Config& config) {
    config.vocab_size = vocab_size;
    config.embedding_dim = dim;
  };
}

// From states of size `dim` to the logits of the tokens.
inline auto head_of(Required<int64_t> vocab_size, Required<int64_t> dim) {
  return [vocab_size, dim](LmHead::Config& config) {
    config.vocab_size = vocab_size;
    config.input_dim = dim;
  };
}

}  // namespace tenon
