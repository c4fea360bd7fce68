// What a model adds to its embedded tokens, so that they know where they stand.
#pragma once

#include <optional>

#include "tenon/nn/module.h"

namespace tenon {

class PositionEmbedding : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> input_dim;
    TENON_FIELDS(input_dim)
  };
  // positions i32 [B,T] -> [B,T,input_dim].
  virtual Tensor forward(const Tensor& positions) const = 0;
  // Tokens of the longest text that there are positions for; empty: any.
  virtual std::optional<int64_t> max_positions() const = 0;
  // Throws `invalid_argument` when there are no positions for a text of so many tokens.
  void check_length(int64_t num_tokens) const;

 protected:
  explicit PositionEmbedding(const Config& config) : Module(config) {}
};

// A learned row for each position (Gehring et al. 2017).
class LearnedPositions final : public PositionEmbedding {
 public:
  struct Config : PositionEmbedding::Config {
    Required<int64_t> max_positions;
    PartitionSpec weight_partition = {{}, "fsdp"};
    Initializer init;
    Config();  // init: Normal with standard deviation 0.02
    void check(Checker& c) const;
    TENON_CONFIG(max_positions, weight_partition, init)
  };
  explicit LearnedPositions(const Config& config);
  // Positions outside the table read the nearest row: check_length keeps texts inside.
  Tensor forward(const Tensor& positions) const override;
  std::optional<int64_t> max_positions() const override { return max_positions_; }

 private:
  int64_t max_positions_;
  Param weight_;  // [max_positions, input_dim]
};

// interleaved: sines at even and cosines at odd places (Vaswani et al. 2017); halves: sines in the first half, cosines
// in the second.
enum class SinusoidLayout : uint8_t { interleaved, halves };
TENON_ENUM(SinusoidLayout, interleaved, halves)

// Sines and cosines of position / theta^(2 i / input_dim), for i below input_dim / 2 (Vaswani et al. 2017,
// section 3.5).
class SinusoidalPositions final : public PositionEmbedding {
 public:
  struct Config : PositionEmbedding::Config {
    double theta = 10000;
    SinusoidLayout layout = SinusoidLayout::interleaved;
    void check(Checker& c) const;
    TENON_CONFIG(theta, layout)
  };
  explicit SinusoidalPositions(const Config& config);
  Tensor forward(const Tensor& positions) const override;
  std::optional<int64_t> max_positions() const override { return {}; }

 private:
  int64_t input_dim_;
  double theta_;
  SinusoidLayout layout_;
};

}  // namespace tenon
