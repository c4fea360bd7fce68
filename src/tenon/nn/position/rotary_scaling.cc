#include <algorithm>
#include <cmath>
#include <numbers>

#include "tenon/config/define.h"
#include "tenon/config/number_checks.h"
#include "tenon/nn/position/rotary.h"

namespace tenon {

using ScalingSignature = RotaryFrequencies(const RotaryFrequencies&);
TENON_FN_TYPE(LinearRotaryScaling, ScalingSignature, "all frequencies divided by a factor; Chen et al. 2023")
TENON_FN_TYPE(Llama3RotaryScaling, ScalingSignature, "slow frequencies divided by a factor, fast ones kept; Llama 3.1",
              {"low_freq_factor", "wavelengths above original_max_position / this are multiplied by factor"},
              {"high_freq_factor", "wavelengths below original_max_position / this stay"},
              {"original_max_position", "tokens of the longest text in training"})
TENON_FN_TYPE(YarnRotaryScaling, ScalingSignature,
              "slow frequencies divided by a factor, and larger queries and keys; Peng et al. 2023",
              {"original_max_position", "tokens of the longest text in training"},
              {"beta_fast", "pairs that turn more often within it stay"},
              {"beta_slow", "pairs that turn less often are slowed down by the whole factor"},
              {"magnitude", "of rotated queries and keys, each; empty: 0.1 ln(factor) + 1"},
              {"truncate", "whether the ramp between begins and ends at whole pairs"})

void LinearRotaryScaling::check(Checker& c) const { check_above_zero(c, "factor", factor); }

RotaryFrequencies LinearRotaryScaling::operator()(const RotaryFrequencies& from) const {
  RotaryFrequencies out = from;
  for (double& f : out.frequencies) f /= factor;
  return out;
}

void Llama3RotaryScaling::check(Checker& c) const {
  check_above_zero(c, "factor", factor);
  check_above_zero(c, "low_freq_factor", low_freq_factor);
  check_finite(c, "high_freq_factor", high_freq_factor);
  c.require(high_freq_factor > low_freq_factor, "high_freq_factor", "must be above low_freq_factor");
  c.positive("original_max_position", original_max_position);
}

RotaryFrequencies Llama3RotaryScaling::operator()(const RotaryFrequencies& from) const {
  RotaryFrequencies out = from;
  for (double& f : out.frequencies) {
    const double turns = static_cast<double>(original_max_position) * f / (2 * std::numbers::pi);
    const double kept = std::clamp((turns - low_freq_factor) / (high_freq_factor - low_freq_factor), 0.0, 1.0);
    f = (1 - kept) * f / factor + kept * f;
  }
  return out;
}

void YarnRotaryScaling::check(Checker& c) const {
  check_finite(c, "factor", factor);
  c.at_least("factor", factor, 1);
  c.positive("original_max_position", original_max_position);
  check_above_zero(c, "beta_slow", beta_slow);
  check_finite(c, "beta_fast", beta_fast);
  c.require(beta_fast > beta_slow, "beta_fast", "must be above beta_slow");
  check_above_zero(c, "magnitude", magnitude);
}

RotaryFrequencies YarnRotaryScaling::operator()(const RotaryFrequencies& from) const {
  RotaryFrequencies out = from;
  const auto pairs = static_cast<double>(from.frequencies.size());
  // The pair, as a real number, that turns so often.
  const auto pair_of = [&](double turns) {
    const double wavelength = static_cast<double>(original_max_position) / (turns * 2 * std::numbers::pi);
    return pairs * std::log(wavelength) / std::log(from.theta);
  };
  double low = pair_of(beta_fast), high = pair_of(beta_slow);
  if (truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, 2 * pairs - 1);
  if (low == high) high += 0.001;  // a step, where the ramp has no width
  for (size_t i = 0; i < out.frequencies.size(); ++i) {
    const double slowed = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    out.frequencies[i] *= slowed / factor + (1 - slowed);
  }
  out.magnitude *= magnitude.value_or(0.1 * std::log(factor) + 1);
  return out;
}

}  // namespace tenon
