// What is added to the logits of attention.
//
// Letters: B batch, T queries, S keys, N heads.
#pragma once

#include "tenon/nn/attention/mask.h"
#include "tenon/nn/module.h"

namespace tenon {

class AttentionBias : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> num_heads;
    TENON_FIELDS(num_heads)
  };
  // -> f32 [B,N,T,S] (f64 where that is computed in), added to the scaled logits.
  virtual Tensor forward(const MaskArgs& args) const = 0;

 protected:
  explicit AttentionBias(const Config& config) : Module(config) {}
};

// -slope * |query position - key position|, a slope a head (Press et al. 2022): 2^(-8 i / N) for heads i = 1 … N where
// N is a power of two; else those of the next lower power, and every other one of twice that.
class AlibiBias final : public AttentionBias {
 public:
  struct Config : AttentionBias::Config {
    TENON_CONFIG()
  };
  explicit AlibiBias(const Config& config);
  Tensor forward(const MaskArgs& args) const override;
  // One for each head.
  static std::vector<double> slopes(int64_t num_heads);

 private:
  int64_t num_heads_;
};

// A learned number for each head and bucket of distances: near ones have a bucket each, those further away, up to
// max_distance, share them logarithmically (Raffel et al. 2020, section 2.1).
class RelativeBias final : public AttentionBias {
 public:
  struct Config : AttentionBias::Config {
    int64_t num_buckets = 32, max_distance = 128;
    // Whether keys after the query have buckets of their own, half of them; if not, they share that of distance 0.
    bool bidirectional = false;
    Initializer init;
    Config();  // init: Normal with standard deviation 0.02
    void check(Checker& c) const;
    TENON_CONFIG(num_buckets, max_distance, bidirectional, init)
  };
  explicit RelativeBias(const Config& config);
  Tensor forward(const MaskArgs& args) const override;
  // The bucket of a distance of 0 or more among `num_buckets` of one direction.
  static int64_t bucket(int64_t distance, int64_t num_buckets, int64_t max_distance);

 private:
  int64_t num_buckets_, max_distance_;
  bool bidirectional_;
  Param weight_;  // [num_buckets, num_heads]
};

// The bias that a module above shares as "attention_bias": a Decoder with that field, for all its layers.
class SharedBias final : public AttentionBias {
 public:
  struct Config : AttentionBias::Config {
    TENON_CONFIG()
  };
  explicit SharedBias(const Config& config) : AttentionBias(config), num_heads_(config.num_heads) {}
  // Throws `shape_mismatch` when the shared bias has another number of heads.
  Tensor forward(const MaskArgs& args) const override;

 private:
  int64_t num_heads_;
};

}  // namespace tenon
