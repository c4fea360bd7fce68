#include "tenon/nn/state_space/causal_conv.h"

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/initializers.h"
#include "tenon/nn/transformer/sequence.h"

namespace tenon {

TENON_MODULE(CausalConv, Module, "each channel of the last few tokens, weighed and added",
             {"kernel_size", "tokens that a token sees, itself included"},
             {"bias", "whether a number a channel is added"}, {"activation", "of the sums"},
             {"kernel_partition", "mesh axes of the kernel [K,F]"}, {"init", "initializer of the kernel"})

CausalConv::Config::Config() : init(FanInUniform{}) {}

void CausalConv::Config::check(Checker& c) const {
  c.positive("input_dim", input_dim);
  c.at_least("kernel_size", kernel_size, 2);
}

CausalConv::CausalConv(const Config& c)
    : Module(c),
      size_(c.kernel_size),
      activation_(c.activation),
      kernel_(this, "kernel", {c.kernel_size, c.input_dim}, {c.kernel_partition, c.init, 1}) {
  if (c.bias) bias_.emplace(this, "bias", Dims{c.input_dim}, ParamSpec{axis_of(c.kernel_partition, 1), Constant{0}, 0});
}

Tensor CausalConv::convolve(const Tensor& x, const Tensor& starts) const {
  const int64_t T = x.dim(1) - size_ + 1;
  const DType wide = wide_dtype(x.dtype());
  const Tensor kernel = convert(kernel_, wide), input = convert(x, wide);
  const auto tap = [&](int64_t lag) {
    const int64_t k = size_ - 1 - lag;
    return std::pair(slice_dim(input, 1, k, k + T), slice_dim(kernel, 0, k, k + 1));
  };
  const auto [now, weight] = tap(0);
  Tensor sum = now * weight, hidden = starts;  // hidden: whether a text starts between the tap and the token
  for (int64_t lag = 1; lag < size_; ++lag) {
    auto [before, w] = tap(lag);
    if (starts) {
      const Tensor none = constant(Literal::scalar_int(DType::i1, 0));
      if (lag > 1) hidden = logical_or(hidden, pad(starts, none, {0, lag - 1}, {0, 1 - lag}));
      before = select(broadcast_in_dim(hidden, before.dims(), {0, 1}), zeros_like(before), before);
    }
    sum = sum + before * w;
  }
  if (bias_) sum = sum + convert(Tensor(*bias_), wide);
  return convert(activation_(sum), x.dtype());
}

Tensor CausalConv::forward(const Tensor& x, const Tensor& starts) const {
  return convolve(pad(x, zeros({x.dtype(), {}}), {0, size_ - 1, 0}, {0, 0, 0}), starts);
}

Tensor CausalConv::init_cache(int64_t batch_size) const {
  return zeros({Context::current().compute_dtype(), {batch_size, size_ - 1, kernel_.shape()[1]}});
}

std::pair<Tensor, Tensor> CausalConv::extend_step(const Tensor& cache, const Tensor& x, const Tensor& count) const {
  const int64_t B = x.dim(0), F = x.dim(2);
  const Tensor all = concatenate(std::vector{convert(cache, x.dtype()), x}, 1);
  const Dims kept{B, size_ - 1, F};
  const auto last = [&] {
    if (count.rank() > 0) {
      return take_along(all, iota({DType::i32, kept}, 1) + expand_dims(column_of(count, B), 2), 1);
    }
    if (x.dim(1) == 1) return slice_dim(all, 1, 1, size_);
    const Tensor zero = zeros({DType::i32, {}});
    return dynamic_slice(all, std::vector<Tensor>{zero, count, zero}, kept);
  };
  return {convert(last(), cache.dtype()), convolve(all, Tensor())};
}

}  // namespace tenon
