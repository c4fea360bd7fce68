#include "tenon/inference/beam_search.h"

#include <algorithm>
#include <cmath>

#include "tenon/base/error.h"

namespace tenon {

BeamSearch::BeamSearch(BeamOptions options) : options_(std::move(options)), running_(1) {
  running_[0].stop = options_.stop;
}

double BeamSearch::score(double log_probability, size_t length) const {
  return log_probability / std::pow(static_cast<double>(length), options_.length_penalty);
}

void BeamSearch::finish(Beam beam, size_t length) {
  const double own = score(beam.log_probability, length);
  if (best_ended_ && own <= best_score_) return;
  best_score_ = own;
  best_ended_ = std::move(beam);
}

void BeamSearch::advance(std::span<const Candidate> candidates) {
  const std::vector<Beam> before = std::move(running_);
  running_.clear();
  ++length_;
  const auto& ends = options_.end_tokens;
  for (const Candidate& c : candidates) {
    if (static_cast<int64_t>(running_.size()) == options_.num_beams) break;
    Beam next = before.at(static_cast<size_t>(c.beam));
    next.log_probability = c.log_probability;
    next.parent = c.beam;
    if (std::find(ends.begin(), ends.end(), c.token) != ends.end()) {
      next.ended = true;
      finish(std::move(next), static_cast<size_t>(length_));
      continue;
    }
    next.tokens.push_back(static_cast<int32_t>(c.token));
    if (next.stop && next.stop->push(next.tokens.back())) {
      next.ended = true;
      finish(std::move(next), static_cast<size_t>(length_));
    } else {
      running_.push_back(std::move(next));
    }
  }
  if (length_ < options_.max_tokens) return;
  for (Beam& beam : running_) finish(std::move(beam), static_cast<size_t>(length_));
  running_.clear();
}

bool BeamSearch::done() const {
  if (running_.empty()) return true;
  if (!best_ended_) return false;
  // Log-probabilities only fall; at best a text keeps its own until it is as long as it may be.
  const double best_running = running_.front().log_probability;
  return score(best_running, static_cast<size_t>(options_.max_tokens)) <= best_score_;
}

const BeamSearch::Beam& BeamSearch::best() const {
  check(best_ended_.has_value(), "beam search: nothing has ended");
  return *best_ended_;
}

}  // namespace tenon
