// Keys and values of the tokens so far, for decoding.
//
// Letters: B batch, T new tokens, S places, K key-value heads, H head dim.
#pragma once

#include <utility>

#include "tenon/autodiff/tree.h"
#include "tenon/nn/attention/qkv.h"
#include "tenon/nn/transformer/sequence.h"

namespace tenon {

// A cache after a step, and what its queries may look at.
struct CachedKeys {
  Nest cache;
  Qkv all;               // the step's queries; keys and values [B,K,S,H]
  Tensor key_positions;  // i32 [B,S]
  Tensor key_segments;   // i32 [B,S]: 0 where a token is, 1 where none is
};

class KvCache : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> window;  // positions a query looks back over, itself included; 0: all
    TENON_FIELDS(window)
  };
  // Empty, for keys and values of `type` [B,K,S,H], S the longest sequence.
  virtual Nest init(const TensorType& type) const = 0;
  // Adds key and value [B,K,T,H]. Padding is overwritten, or hidden, by the next step. With a scalar start all T
  // places, those of padding too, must lie within the longest sequence; with one a row, those behind it aren't written
  // to.
  virtual CachedKeys update(const Nest& cache, const Qkv& qkv, const DecodeStep& step) const = 0;

 protected:
  explicit KvCache(const Config& config) : Module(config) {}
};

// One array of the longest sequence for keys, one for values.
class DenseKvCache final : public KvCache {
 public:
  struct Config : KvCache::Config {
    TENON_CONFIG()
  };
  explicit DenseKvCache(const Config& config) : KvCache(config) {}
  Nest init(const TensorType& type) const override;
  CachedKeys update(const Nest& cache, const Qkv& qkv, const DecodeStep& step) const override;
};

// The last `window` tokens alone, token p at place p mod window: memory that doesn't grow with the text, for a mask
// that is a sliding window.
class SlidingKvCache final : public KvCache {
 public:
  struct Config : KvCache::Config {
    TENON_CONFIG()
  };
  // Throws `unsupported` when there is no window.
  explicit SlidingKvCache(const Config& config);
  Nest init(const TensorType& type) const override;
  CachedKeys update(const Nest& cache, const Qkv& qkv, const DecodeStep& step) const override;

 private:
  int64_t window_;
};

}  // namespace tenon
