// Choosing the next token, traced.
#pragma once

#include "tenon/inference/generate_options.h"
#include "tenon/ir/tensor.h"

namespace tenon {

// A logit this low is never chosen, unless all are.
inline constexpr double kNeverSampled = -1e30;

// SamplingOptions in a program: f32 scalars.
struct SamplingNumbers {
  // From what SamplingOptions::packed gives.
  explicit SamplingNumbers(const Tensor& packed);
  Tensor temperature, top_k, top_p, min_p, repetition_penalty;
};

// Logits f32 [B,V] with the penalty on tokens whose count in `counts` f32 [B,V] isn't 0.
Tensor penalize_repetition(const Tensor& logits, const Tensor& counts, const Tensor& penalty);

// `scaled` logits f32 [B,V] with those that aren't to be drawn at kNeverSampled: by min_p, then top_k, then top_p over
// what those leave. What is as likely as the last token that stays, stays.
Tensor keep_likely(const Tensor& scaled, const SamplingNumbers& numbers);

// The next token i32 [B] from logits f32 [B,V]: the most likely where the temperature is 0, else drawn. `keys` u32
// [B,2], `position` i32 [] or [B]: a row's draw depends on its key, position and logits alone. Gumbel-max:
// argmax(logits / temperature - log(-log(uniform))).
Tensor sample_token(const Tensor& logits, const SamplingNumbers& numbers, const Tensor& keys, const Tensor& position);

}  // namespace tenon
