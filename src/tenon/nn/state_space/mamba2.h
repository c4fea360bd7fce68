// The Mamba-2 mixer (Dao & Gu 2024, "Transformers are SSMs", section 7).
//
// Letters: B batch, T tokens, D model, G groups, R heads of a group, P head dim, N state dim.
#pragma once

#include "tenon/nn/attention/attention.h"
#include "tenon/nn/basic/feed_forward.h"
#include "tenon/nn/state_space/causal_conv.h"
#include "tenon/nn/state_space/gated_norm.h"
#include "tenon/nn/state_space/ssd.h"

namespace tenon {

// Takes the place of attention: projections z, x, b, c and dt of the input, a short convolution of x, b and c, the
// recurrence, a norm gated by z, and a projection back. Where segment_ids change, it starts anew: neither recurrence
// nor convolution reach over. Positions don't matter to it.
class Mamba2 final : public Attention {
 public:
  struct Config : Attention::Config {
    Fn<int64_t(int64_t)> inner_dim = ScaledDim{.scale = 2};  // of all heads together
    int64_t head_dim = 64, state_dim = 128;
    int64_t num_groups = 1;
    int64_t chunk_size = 64;
    double min_dt = 0;
    std::optional<double> max_dt;
    Slot<Linear> linear;          // z, x and dt
    Slot<Linear> group_linear;    // b and c
    Slot<CausalConv> conv;        // of x
    Slot<CausalConv> group_conv;  // of b and c
    Slot<GatedNorm> norm;
    Slot<Linear> output;
    Initializer a_init, dt_init;
    PartitionSpec inner_partition = {{"data", "expert", "fsdp"}, {}, {"model"}};
    Config();
    void check(Checker& c) const;
    TENON_CONFIG(inner_dim, head_dim, state_dim, num_groups, chunk_size, min_dt, max_dt, linear, group_linear, conv,
                 group_conv, norm, output, a_init, dt_init, inner_partition)
  };
  explicit Mamba2(const Config& config);
  Tensor forward(const Tensor& x, const SequenceInfo& info) const override;
  // "state" f32 [B,G,N,R,P], and of each convolution the last inputs: the same size however long the text gets.
  Nest init_cache(int64_t batch_size, int64_t max_len) const override;
  std::pair<Nest, Tensor> extend_step(const Nest& cache, const Tensor& x, const DecodeStep& step) const override;

 private:
  // Of the convolved x [B,T,G*R*P], b and c [B,T,G*N], and h [B,T,D].
  SsdInputs ssd_inputs(const Tensor& x, const Tensor& b, const Tensor& c, const Tensor& h) const;
  Tensor step_sizes(const Tensor& h) const;  // [B,T,G,R]
  Tensor project_output(const Tensor& y, const Tensor& h) const;
  TensorType state_type(int64_t batch_size, DType dtype) const;

  int64_t inner_dim_, head_dim_, state_dim_, num_groups_, heads_a_group_, chunk_size_;
  double min_dt_;
  std::optional<double> max_dt_;
  PartitionSpec inner_partition_;
  Child<Linear> z_, x_, b_, c_, dt_;
  Child<CausalConv> x_conv_, b_conv_, c_conv_;
  Child<GatedNorm> norm_;
  Child<Linear> output_;
  Param a_log_, dt_bias_, d_;
};

}  // namespace tenon
