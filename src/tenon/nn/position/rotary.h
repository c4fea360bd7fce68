// Rotary positions, and ways to stretch them over longer texts than a model was trained on.
#pragma once

#include <optional>
#include <vector>

#include "tenon/nn/attention/qkv.h"

namespace tenon {

// How fast each pair of a head turns.
struct RotaryFrequencies {
  double theta = 10000;             // base of the wavelengths
  std::vector<double> frequencies;  // radians a position, from fast to slow: theta^(-2 i / number of rotated elements)
  double magnitude = 1;             // of rotated queries and keys, each
};
// From the frequencies a model was trained with to those of longer texts.
using RotaryScaling = Fn<RotaryFrequencies(const RotaryFrequencies&)>;

// All frequencies divided by `factor` (Chen et al. 2023; "position interpolation").
struct LinearRotaryScaling {
  double factor = 2;
  void check(Checker& c) const;
  TENON_FN(factor)
  RotaryFrequencies operator()(const RotaryFrequencies& from) const;
};

// Wavelengths below original_max_position / high_freq_factor stay, those above original_max_position / low_freq_factor
// are multiplied by `factor`, frequencies between are blended (Grattafiori et al. 2024, as published with the weights
// of Llama 3.1).
struct Llama3RotaryScaling {
  double factor = 8, low_freq_factor = 1, high_freq_factor = 4;
  int64_t original_max_position = 8192;
  void check(Checker& c) const;
  TENON_FN(factor, low_freq_factor, high_freq_factor, original_max_position)
  RotaryFrequencies operator()(const RotaryFrequencies& from) const;
};

// YaRN (Peng et al. 2023): pairs that turn more than beta_fast times within original_max_position stay, those that turn
// less than beta_slow times have their frequency divided by `factor`, by a ramp over the pairs between; queries and
// keys grow by 0.1 ln(factor) + 1.
struct YarnRotaryScaling {
  double factor = 4;
  int64_t original_max_position = 4096;
  double beta_fast = 32, beta_slow = 1;
  std::optional<double> magnitude = {};  // empty: 0.1 ln(factor) + 1
  bool truncate = true;                  // whether the ramp begins and ends at whole pairs
  void check(Checker& c) const;
  TENON_FN(factor, original_max_position, beta_fast, beta_slow, magnitude, truncate)
  RotaryFrequencies operator()(const RotaryFrequencies& from) const;
};

// Rotates queries and keys of another projection by their positions (Su et al. 2021), element i of the first half of
// what is rotated against element i of the second half.
class RotaryQkv final : public QkvProjection {
 public:
  struct Config : QkvProjection::Config {
    double theta = 10000;
    double fraction = 1;    // of a head's elements, the first ones, that are rotated; the others have no position
    RotaryScaling scaling;  // empty: none
    Slot<QkvProjection> projection;
    Config();  // projection: LinearQkv
    void check(Checker& c) const;
    TENON_CONFIG(theta, fraction, scaling, projection)
  };
  explicit RotaryQkv(const Config& config);
  Qkv forward(const Tensor& x, const Tensor& positions) const override;

 private:
  double theta_;
  RotaryScaling scaling_;
  int64_t rotated_dim_;
  Child<QkvProjection> projection_;
};

}  // namespace tenon
