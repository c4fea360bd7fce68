// Several sources mixed by weight, as a pure function of (seed, position).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tenon {

// Each source's positions come in their order, spread evenly over all: any stretch has its share of them within a few,
// and every kPeriod positions have exactly that.
class MixtureOrder {
 public:
  static constexpr uint64_t kPeriod = 65536;
  // Weights are shares of the whole. Throws `invalid_argument` unless each is at least 1 / kPeriod and together they
  // are 1, within 1e-6.
  MixtureOrder(std::span<const double> weights, uint64_t seed);

  struct Place {
    size_t source = 0;
    uint64_t position = 0;  // within the source
  };
  Place at(uint64_t position) const;
  // The position at which a source's own `position` comes; 2^64 - 1 when that is farther than can be told.
  uint64_t find(const Place& place) const;

 private:
  // One source beside all behind it: of every `of` positions it has `share`.
  struct Split {
    uint64_t share, of, phase;
    // How many of the first `count` positions are the source's.
    uint64_t taken(uint64_t count) const;
    // The fewest positions of which more than `index` are the source's; 2^64 - 1 when that is farther than can be told.
    uint64_t reach(uint64_t index) const;
  };
  std::vector<Split> splits_;
};

}  // namespace tenon
