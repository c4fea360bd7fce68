// Low-rank adapters (Hu et al. 2021, "LoRA: low-rank adaptation of large language models").
#pragma once

#include "tenon/nn/dot/dot.h"

namespace tenon {

// x W + alpha / rank * (x A) B, with A [in, rank] random and B [rank, out] zero at the start. What computes x W is in
// `dot`, so adapters go over rounded products too. They are parameters lora_a and lora_b of the linear layer's dot: the
// weight keeps its name, and a checkpoint has all three.
class LoRA final : public Dot {
 public:
  struct Config : Dot::Config {
    Slot<Dot> dot;
    int64_t rank = 8;
    double alpha = 16;
    double dropout = 0;  // of x, before A
    Config();
    void check(Checker& c) const;
    TENON_CONFIG(dot, rank, alpha, dropout)
  };
  explicit LoRA(const Config& config);
  Tensor forward(const Tensor& x, const Tensor& weight) const override;
  // weight + alpha / rank * a b, of arrays as stored: f32, stacked layers in front.
  Tensor merge(const Tensor& weight, const Tensor& a, const Tensor& b) const;

 private:
  double scale_, dropout_;
  Child<Dot> dot_;
  Param a_, b_;
};

// Traced: the state of `root` without its adapters, added to the weights they stand beside: the state of the same model
// with what is in each LoRA's `dot` in its place. `state` is named as describe_state names it.
Nest merge_lora(const Module& root, const Nest& state);

}  // namespace tenon
