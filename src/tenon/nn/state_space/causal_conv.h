#pragma once

#include <utility>

#include "tenon/nn/basic/activations.h"
#include "tenon/nn/module.h"

namespace tenon {

// Each channel of the last few tokens, weighed and added: activation(sum_k kernel[k] x[t - K + 1 + k] + bias), a
// convolution with a kernel a channel that looks back only (Gu & Dao 2023, section 3.4). Sums are f32 (f64).
//
// Letters: B batch, T tokens, F channels, K kernel size.
class CausalConv final : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> input_dim;
    int64_t kernel_size = 4;
    bool bias = true;
    Activation activation = Silu{};
    PartitionSpec kernel_partition = {{}, "model"};
    Initializer init;
    Config();
    void check(Checker& c) const;
    TENON_CONFIG(input_dim, kernel_size, bias, activation, kernel_partition, init)
  };
  explicit CausalConv(const Config& config);
  // x [B,T,F] -> [B,T,F]. `starts` i1 [B,T]: tokens that see nothing of what is before them.
  Tensor forward(const Tensor& x, const Tensor& starts) const;
  // What extend_step carries: the K - 1 tokens before the next, [B,K-1,F].
  Tensor init_cache(int64_t batch_size) const;
  // The next tokens x [B,T,F], of which the first `count` (i32 [], 1 … T, or [B], 0 … T) are there. A row
  // without any keeps its cache.
  std::pair<Tensor, Tensor> extend_step(const Tensor& cache, const Tensor& x, const Tensor& count) const;

 private:
  // Of the last T of `x` [B,K-1+T,F]; `starts` may be empty.
  Tensor convolve(const Tensor& x, const Tensor& starts) const;
  int64_t size_;
  Activation activation_;
  Param kernel_;
  std::optional<Param> bias_;
};

}  // namespace tenon
