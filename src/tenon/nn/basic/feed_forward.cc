#include "tenon/nn/basic/feed_forward.h"

#include <cmath>

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/basic/dropout.h"

namespace tenon {

TENON_FN_TYPE(ScaledDim, int64_t(int64_t), "scale * input_dim, rounded up",
              {"round_up_to", "the result is a multiple of it"})
TENON_INTERFACE(FeedForward, Module, "changes each token by itself")
TENON_MODULE(GatedFeedForward, FeedForward, "down(activation(gate(x)) * up(x)); Shazeer 2020, eq. 6",
             {"hidden_dim", "size between, a number or a function of input_dim"}, {"linear", "gate and up"})
TENON_MODULE(PlainFeedForward, FeedForward, "down(activation(up(x))); Vaswani et al. 2017, eq. 2",
             {"hidden_dim", "size between, a number or a function of input_dim"},
             {"dropout", "share of hidden elements that are dropped in training"})

int64_t ScaledDim::operator()(int64_t input_dim) const {
  if (!(scale > 0) || round_up_to < 1) {
    throw Error(ErrorCode::invalid_argument, "ScaledDim needs a scale above 0 and round_up_to of at least 1");
  }
  const double exact = std::ceil(scale * static_cast<double>(input_dim) - 1e-9);
  if (!(exact + static_cast<double>(round_up_to) < 1e15)) {
    throw Error(ErrorCode::invalid_argument, "ScaledDim gives a dimension above 1e15");
  }
  const auto raw = static_cast<int64_t>(exact);
  return (raw + round_up_to - 1) / round_up_to * round_up_to;
}

namespace {

Linear::Config down_linear() {
  Linear::Config c;
  c.weight_partition = {"model", "fsdp"};
  return c;
}

}  // namespace

GatedFeedForward::Config::Config() : linear(Linear::Config{}), down(down_linear()) {}

GatedFeedForward::GatedFeedForward(const Config& c)
    : FeedForward(c),
      activation_(c.activation),
      hidden_partition_(c.hidden_partition),
      gate_(this, "gate", c.linear, linear_dims(c.input_dim, c.hidden_dim(c.input_dim))),
      up_(this, "up", c.linear, linear_dims(c.input_dim, c.hidden_dim(c.input_dim))),
      down_(this, "down", c.down, linear_dims(c.hidden_dim(c.input_dim), c.input_dim)) {}

Tensor GatedFeedForward::forward(const Tensor& x) const {
  const Tensor hidden = activation_(tag(gate_(x), "gate")) * tag(up_(x), "up");
  return down_(tag(shard(hidden, hidden_partition_), "hidden"));
}

PlainFeedForward::Config::Config() : up(Linear::Config{}), down(down_linear()) {}

void PlainFeedForward::Config::check(Checker& c) const { check_rate(c, "dropout", dropout); }

PlainFeedForward::PlainFeedForward(const Config& c)
    : FeedForward(c),
      activation_(c.activation),
      dropout_(c.dropout),
      hidden_partition_(c.hidden_partition),
      up_(this, "up", c.up, linear_dims(c.input_dim, c.hidden_dim(c.input_dim))),
      down_(this, "down", c.down, linear_dims(c.hidden_dim(c.input_dim), c.input_dim)) {}

Tensor PlainFeedForward::forward(const Tensor& x) const {
  const Tensor hidden = activation_(tag(up_(x), "up"));
  return down_(tag(shard(dropout(hidden, dropout_, "hidden"), hidden_partition_), "hidden"));
}

}  // namespace tenon
