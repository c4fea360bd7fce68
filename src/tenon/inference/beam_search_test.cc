#include "tenon/inference/beam_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tenon/text/saved_tokenizer.h"

namespace tenon {
namespace {

using Tokens = std::vector<int32_t>;
constexpr int64_t kEnd = 3;

// log p(next | last token) of four tokens, of which the last ends a text; row 4: at the start.
class Chain {
 public:
  explicit Chain(double salt) {
    for (size_t from = 0; from < 5; ++from) {
      double sum = 0;
      for (size_t to = 0; to < 4; ++to) {
        p_[from][to] = std::exp(2 * std::sin(salt + 5.3 * static_cast<double>(from) + 2.1 * static_cast<double>(to)));
        sum += p_[from][to];
      }
      for (double& p : p_[from]) p = std::log(p / sum);
    }
  }
  double log_p(const Tokens& before, int64_t next) const {
    return p_[before.empty() ? 4 : static_cast<size_t>(before.back())][static_cast<size_t>(next)];
  }

 private:
  double p_[5][4];
};

BeamSearch::Beam run(const Chain& chain, const BeamOptions& options) {
  BeamSearch search(options);
  while (!search.done()) {
    std::vector<BeamSearch::Candidate> all;
    for (size_t beam = 0; beam < search.running().size(); ++beam) {
      const BeamSearch::Beam& from = search.running()[beam];
      for (int64_t token = 0; token < 4; ++token) {
        all.push_back({static_cast<int64_t>(beam), token, from.log_probability + chain.log_p(from.tokens, token)});
      }
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.log_probability > b.log_probability; });
    all.resize(std::min(all.size(), static_cast<size_t>(2 * options.num_beams)));
    search.advance(all);
  }
  return search.best();
}

struct Found {
  Tokens tokens;
  double score = -1e300;
};

// The best text behind `before` among all, by trying them.
void try_all(const Chain& chain, const BeamOptions& o, Tokens before, double log_p, Found& best) {
  const auto length = static_cast<double>(before.size());
  const auto offer = [&](double total, double size) {
    const double score = total / std::pow(size, o.length_penalty);
    if (score > best.score) best = {before, score};
  };
  if (static_cast<int64_t>(before.size()) == o.max_tokens) return offer(log_p, length);
  offer(log_p + chain.log_p(before, kEnd), length + 1);
  for (int32_t token = 0; token < 3; ++token) {
    Tokens next = before;
    next.push_back(token);
    try_all(chain, o, next, log_p + chain.log_p(before, token), best);
  }
}

TEST(BeamSearch, WideEnoughFindsTheBestOfAll) {
  for (int salt = 0; salt < 20; ++salt) {
    const Chain chain(salt);
    for (const double penalty : {0.0, 0.6, 1.0, 2.0}) {
      const BeamOptions options{81, penalty, 5, {kEnd}, {}};
      Found best;
      try_all(chain, options, {}, 0, best);
      const BeamSearch::Beam got = run(chain, options);
      EXPECT_EQ(got.tokens, best.tokens) << salt << " " << penalty;
      const double length = static_cast<double>(got.tokens.size()) + (got.ended ? 1 : 0);
      EXPECT_NEAR(got.log_probability / std::pow(length, penalty), best.score, 1e-12);
    }
  }
}

// As textbooks have it: a list of beginnings, all continued, sorted and cut, until the longest length.
Tokens plain(const Chain& chain, const BeamOptions& o) {
  struct Text {
    Tokens tokens;
    double log_p = 0;
  };
  std::vector<Text> running(1);
  Found best;
  for (int64_t length = 1; length <= o.max_tokens; ++length) {
    std::vector<Text> next;
    for (const Text& text : running) {
      for (int32_t token = 0; token < 4; ++token) {
        next.push_back({text.tokens, text.log_p + chain.log_p(text.tokens, token)});
        next.back().tokens.push_back(token);
      }
    }
    std::stable_sort(next.begin(), next.end(), [](const Text& a, const Text& b) { return a.log_p > b.log_p; });
    running.clear();
    for (Text& text : next) {
      if (static_cast<int64_t>(running.size()) == o.num_beams) break;
      const double score = text.log_p / std::pow(static_cast<double>(length), o.length_penalty);
      const bool ended = text.tokens.back() == kEnd;
      if (ended) text.tokens.pop_back();
      if ((ended || length == o.max_tokens) && score > best.score) best = {text.tokens, score};
      if (!ended) running.push_back(std::move(text));
    }
  }
  return best.tokens;
}

TEST(BeamSearch, NarrowOnesAreTheTextbooks) {
  int different = 0;
  for (int salt = 0; salt < 40; ++salt) {
    const Chain chain(salt);
    for (const int64_t beams : {1, 2, 3}) {
      const BeamOptions options{beams, 1, 8, {kEnd}, {}};
      EXPECT_EQ(run(chain, options).tokens, plain(chain, options)) << salt << " " << beams;
    }
    different += run(chain, {1, 1, 8, {kEnd}, {}}).tokens != run(chain, {3, 1, 8, {kEnd}, {}}).tokens;
  }
  EXPECT_GT(different, 5) << "the width matters";
}

TEST(BeamSearch, EndsWhereAskedTo) {
  const std::shared_ptr<const Tokenizer> bytes = open_tokenizer("bytes");
  const BeamOptions options{2, 0, 6, {kEnd, 1}, StopWatch(*bytes, {}, {"\x02"})};
  for (int salt = 0; salt < 10; ++salt) {
    const BeamSearch::Beam got = run(Chain(salt), options);
    for (size_t i = 0; i < got.tokens.size(); ++i) {
      EXPECT_NE(got.tokens[i], 1);
      EXPECT_TRUE(got.tokens[i] != 2 || i + 1 == got.tokens.size());
    }
  }
}

// Beams that part keep their own beginnings of a stop.
TEST(BeamSearch, AStopOfSeveralTokensIsEachBeamsOwn) {
  const std::shared_ptr<const Tokenizer> bytes = open_tokenizer("bytes");
  const std::string stop{2, 0, 2};
  int stopped = 0;
  for (int salt = 0; salt < 40; ++salt) {
    const BeamSearch::Beam got = run(Chain(salt), {3, 1, 8, {kEnd}, StopWatch(*bytes, {}, {stop})});
    const std::string text = bytes->decode(got.tokens);
    const size_t at = text.find(stop);
    stopped += at != std::string::npos;
    EXPECT_TRUE(at == std::string::npos || at + stop.size() == text.size()) << salt;
  }
  EXPECT_GT(stopped, 0);
}

}  // namespace
}  // namespace tenon
