// What tests of generation share.
#pragma once

#include <cstdint>

#include "tenon/inference/generate_options.h"
#include "tenon/nn/testing/evaluate.h"

namespace tenon {

inline GenerateOptions with(int64_t max_tokens, const SamplingOptions& sampling = {}) {
  return {.max_tokens = max_tokens, .sampling = sampling};
}
inline GenerateOptions greedy(int64_t max_tokens) { return with(max_tokens, {.temperature = 0}); }

// Initial values with the embedding `factor` times as large, so that the model has opinions.
inline Values with_opinions(Values values, double factor) {
  Literal& embedding = values.at("embedding.weight");
  for (int64_t i = 0; i < embedding.size(); ++i) embedding.set(i, factor * embedding.as_double(i));
  return values;
}

}  // namespace tenon
