// Choosing the next token.
#pragma once

#include <cstdint>

#include "tenon/ir/tensor.h"

namespace tenon {

struct SamplingOptions {
  double temperature = 1;  // 0: the most likely token
  int64_t top_k = 0;       // only among the k most likely; 0: all
  int64_t seed = 0;        // the same seed gives the same text
  // Throws `invalid_argument` naming the option.
  void check() const;
};

// A logit this low is never chosen, unless all are.
inline constexpr double kNeverSampled = -1e30;

// Traced: the next token i32 [B] from logits f32 [B,V]. `temperature` f32, `top_k` i32 (0: all; ties with the k-th stay
// in) and `position` i32 are scalars, `key` u32[2]; a draw depends on key, position and row alone. Gumbel-max:
// argmax(logits / temperature - log(-log(uniform))).
Tensor sample_token(const Tensor& logits, const Tensor& temperature, const Tensor& top_k, const Tensor& key,
                    const Tensor& position);

}  // namespace tenon
