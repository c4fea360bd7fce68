#include "tenon/data/mixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "tenon/base/error.h"
#include "tenon/data/order.h"

namespace tenon {
namespace {

constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

void check_weights(std::span<const double> weights) {
  constexpr double kLeast = 1.0 / MixtureOrder::kPeriod, kSlack = 1e-6;
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    sum += weights[i];
    if (weights[i] >= kLeast && weights[i] <= 1 + kSlack) continue;
    throw Error(ErrorCode::invalid_argument, "a weight that is no share of the whole")
        .at(fmt::format("sources.{}.weight", i))
        .got(fmt::format("{}", weights[i]))
        .expected(fmt::format("{} to 1", kLeast));
  }
  if (std::fabs(sum - 1) <= kSlack) return;
  throw Error(ErrorCode::invalid_argument, "the weights of the sources don't add up")
      .at("sources")
      .got(fmt::format("{} in all", sum))
      .expected("1");
}

// Whole parts of kPeriod, each at least 1; what rounding leaves goes to those that lost most.
std::vector<uint64_t> shares_of(std::span<const double> weights) {
  constexpr auto kPeriod = static_cast<double>(MixtureOrder::kPeriod);
  std::vector<uint64_t> shares;
  std::vector<std::pair<double, size_t>> lost;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double exact = std::min(weights[i] * kPeriod, kPeriod);
    shares.push_back(std::max<uint64_t>(static_cast<uint64_t>(exact), 1));
    lost.emplace_back(static_cast<double>(shares.back()) - exact, i);
  }
  std::sort(lost.begin(), lost.end());
  uint64_t sum = std::accumulate(shares.begin(), shares.end(), uint64_t{0});
  for (size_t i = 0; sum < MixtureOrder::kPeriod; ++i, ++sum) ++shares[lost[i % lost.size()].second];
  for (; sum > MixtureOrder::kPeriod; --sum) --*std::max_element(shares.begin(), shares.end());
  return shares;
}

}  // namespace

MixtureOrder::MixtureOrder(std::span<const double> weights, uint64_t seed) {
  check(!weights.empty(), "sources to mix");
  check_weights(weights);
  uint64_t of = kPeriod;
  for (const uint64_t share : shares_of(weights)) {
    splits_.push_back({share, of, fold_seed(seed, splits_.size()) % of});
    of -= share;
  }
}

uint64_t MixtureOrder::Split::taken(uint64_t count) const {
  return count / of * share + (count % of * share + phase) / of;
}

uint64_t MixtureOrder::Split::reach(uint64_t index) const {
  if (index == kNever || index / share >= kNever / of - 1) return kNever;
  const uint64_t rest = (index % share + 1) * of - phase;
  return index / share * of + (rest - 1) / share + 1;
}

MixtureOrder::Place MixtureOrder::at(uint64_t position) const {
  for (size_t source = 0; source + 1 < splits_.size(); ++source) {
    const uint64_t before = splits_[source].taken(position);
    if (splits_[source].taken(position + 1) > before) return {source, before};
    position -= before;
  }
  return {splits_.size() - 1, position};
}

uint64_t MixtureOrder::find(const Place& place) const {
  uint64_t position = place.position;
  size_t source = place.source;
  if (source + 1 < splits_.size()) {
    const uint64_t reach = splits_[source].reach(position);
    position = reach == kNever ? kNever : reach - 1;
  }
  // What a split leaves to those behind it is spread as evenly, with the phase that is left.
  while (source-- > 0 && position != kNever) {
    const Split& split = splits_[source];
    const uint64_t reach = Split{split.of - split.share, split.of, split.of - 1 - split.phase}.reach(position);
    position = reach == kNever ? kNever : reach - 1;
  }
  return position;
}

}  // namespace tenon
