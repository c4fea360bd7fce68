#include "tenon/nn/position/position_embedding.h"

#include <fmt/format.h>

#include <cmath>

#include "tenon/config/define.h"
#include "tenon/config/number_checks.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/initializers.h"

namespace tenon {

TENON_INTERFACE(PositionEmbedding, Module, "what is added to embedded tokens for where they stand")
TENON_MODULE(LearnedPositions, PositionEmbedding, "a learned row for each position; Gehring et al. 2017",
             {"max_positions", "tokens of the longest text"})
TENON_MODULE(SinusoidalPositions, PositionEmbedding, "sines and cosines of the position; Vaswani et al. 2017",
             {"theta", "base of the wavelengths"},
             {"layout", "interleaved: sines at even, cosines at odd places; halves: sines, then cosines"})

void PositionEmbedding::check_length(int64_t num_tokens) const {
  const std::optional<int64_t> most = max_positions();
  if (!most || num_tokens <= *most) return;
  throw Error(ErrorCode::invalid_argument, "a text longer than the model's positions")
      .at(Context::current().path())
      .got(fmt::format("{} tokens", num_tokens))
      .expected(fmt::format("{} at most", *most))
      .hint("shorten the sequences, or raise max_positions and train");
}

LearnedPositions::Config::Config() : init(Normal{0.02}) {}

void LearnedPositions::Config::check(Checker& c) const {
  c.positive("input_dim", input_dim);
  c.positive("max_positions", max_positions);
}

LearnedPositions::LearnedPositions(const Config& config)
    : PositionEmbedding(config),
      max_positions_(config.max_positions),
      weight_(this, "weight", {config.max_positions, config.input_dim}, {config.weight_partition, config.init, 0}) {}

Tensor LearnedPositions::forward(const Tensor& positions) const { return take(weight_, positions); }

void SinusoidalPositions::Config::check(Checker& c) const {
  check_above_zero(c, "theta", theta);
  c.require(input_dim > 0 && input_dim % 2 == 0, "input_dim", "must be positive and even");
}

SinusoidalPositions::SinusoidalPositions(const Config& config)
    : PositionEmbedding(config), input_dim_(config.input_dim), theta_(config.theta), layout_(config.layout) {}

Tensor SinusoidalPositions::forward(const Tensor& positions) const {
  const DType dtype = Context::current().compute_dtype(), wide = wide_dtype(dtype);
  std::vector<double> frequencies;
  for (int64_t i = 0; i < input_dim_ / 2; ++i) {
    frequencies.push_back(std::pow(theta_, -2.0 * static_cast<double>(i) / static_cast<double>(input_dim_)));
  }
  const Tensor frequency = constant(Literal::from(wide, {input_dim_ / 2}, frequencies));
  const Tensor angle = expand_dims(convert(positions, wide), 2) * frequency;  // [B,T,D/2]
  const int64_t dim = layout_ == SinusoidLayout::halves ? 2 : 3;
  const std::vector<Tensor> parts{expand_dims(sin(angle), dim), expand_dims(cos(angle), dim)};
  return convert(reshape(concatenate(parts, dim), {positions.dim(0), positions.dim(1), input_dim_}), dtype);
}

}  // namespace tenon
