#pragma once

#include "tenon/nn/attention.h"
#include "tenon/nn/feed_forward.h"
#include "tenon/nn/residual.h"

namespace tenon {

// One layer of a stack, with state for decoding.
class TransformerLayer : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> input_dim;
    TENON_FIELDS(input_dim)
  };
  // x [B,T,D] -> [B,T,D]; init_cache and extend_step as Attention's.
  virtual Tensor forward(const Tensor& x, const SequenceInfo& info) const = 0;
  virtual Nest init_cache(int64_t batch_size, int64_t max_len) const = 0;
  virtual std::pair<Nest, Tensor> extend_step(const Nest& cache, const Tensor& x, const Tensor& start) const = 0;

 protected:
  explicit TransformerLayer(const Config& config) : Module(config) {}
};

// Attention, then a feed-forward, each in its residual.
class DecoderLayer final : public TransformerLayer {
 public:
  struct Config : TransformerLayer::Config {
    Slot<Attention> attention;
    Slot<FeedForward> feed_forward;
    Slot<Residual> residual;
    // Of the residual stream [B,T,D].
    PartitionSpec activation_partition = {{"data", "expert", "fsdp"}, {"seq"}, {}};
    Config();
    TENON_CONFIG(attention, feed_forward, residual, activation_partition)
  };
  explicit DecoderLayer(const Config& config);
  Tensor forward(const Tensor& x, const SequenceInfo& info) const override;
  Nest init_cache(int64_t batch_size, int64_t max_len) const override;
  std::pair<Nest, Tensor> extend_step(const Nest& cache, const Tensor& x, const Tensor& start) const override;

 private:
  Tensor feed_forward(const Tensor& x) const;
  PartitionSpec activation_partition_;
  Child<Attention> attention_;
  Child<FeedForward> feed_forward_;
  Child<Residual> attention_residual_, feed_forward_residual_;
};

}  // namespace tenon
