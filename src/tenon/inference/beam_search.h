// Beam search, apart from the model.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tenon/inference/stop_strings.h"

namespace tenon {

struct BeamOptions {
  int64_t num_beams = 4;
  // Texts compare by log-probability / length^length_penalty; a token that ends one counts in its length. At least 0.
  double length_penalty = 1;
  // At least 1.
  int64_t max_tokens = 200;
  std::vector<int64_t> end_tokens;
  // Says where a text ends without a token for that, as it stands before the first token; none: nowhere.
  std::optional<StopWatch> stop;
};

// Keeps the `num_beams` most likely beginnings of a text, step by step. Stops when no running one can become better
// than the best that has ended.
class BeamSearch {
 public:
  struct Beam {
    std::vector<int32_t> tokens;  // without the token that ended it
    std::optional<StopWatch> stop;
    double log_probability = 0;
    int64_t parent = 0;  // of the running beam: which it was at the step before
    bool ended = false;
  };
  struct Candidate {
    int64_t beam;   // the running beam it goes on from
    int64_t token;  // its next token
    double log_probability;
  };

  explicit BeamSearch(BeamOptions options);
  // Between num_beams and 1; one with no token at the start.
  const std::vector<Beam>& running() const { return running_; }
  // The best of all continuations of the running beams, best first: 2 num_beams of them, or all.
  void advance(std::span<const Candidate> candidates);
  bool done() const;
  // Ended or, when it is done, running; the first of equals.
  const Beam& best() const;

 private:
  double score(double log_probability, size_t length) const;
  void finish(Beam beam, size_t length);

  BeamOptions options_;
  std::vector<Beam> running_;
  int64_t length_ = 0;
  std::optional<Beam> best_ended_;
  double best_score_ = 0;
};

}  // namespace tenon
