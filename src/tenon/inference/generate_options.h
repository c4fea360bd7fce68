// How a text is written: what is drawn from, and when it ends.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/base/literal.h"

namespace tenon {

// In this order: the penalty, the temperature, then what is left out.
struct SamplingOptions {
  double temperature = 1;  // 0: the most likely token
  int64_t top_k = 0;       // only the k most likely tokens; 0: all
  double top_p = 1;        // only the most likely tokens that together have this probability
  double min_p = 0;        // no token less likely than this part of the most likely one
  // Logits of tokens in the prompt or the text so far are divided by it where positive, else multiplied (Keskar et al.
  // 2019, "CTRL", section 4.1); 1: none.
  double repetition_penalty = 1;
  int64_t seed = 0;  // the same seed gives the same text
  // Throws `invalid_argument` naming the option.
  void check() const;
  // As programs take them, f32[5]; the seed is apart.
  Literal packed() const;
};

struct GenerateOptions {
  int64_t max_tokens = 200;
  SamplingOptions sampling = {};
  // The text ends before the first of these to be complete.
  std::vector<std::string> stop = {};
  // Tokens that end the text, besides the model's own end.
  std::vector<int64_t> stop_tokens = {};
  // Above 1: beam search, which draws nothing.
  int64_t num_beams = 1;
  // Of beam search: texts compare by log-probability / length^length_penalty.
  double length_penalty = 1;
  // Throws `invalid_argument` or `unsupported` naming the option.
  void check() const;
  // And that tokens are in the vocabulary.
  void check(int64_t vocab_size) const;
};

}  // namespace tenon
