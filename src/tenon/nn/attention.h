// Attention, with a seam at every part: projection, core, mask, cache.
//
// Letters: B batch, T queries, S keys, D model, N heads, K key-value heads, H head dim.
#pragma once

#include <optional>
#include <utility>

#include "tenon/ir/ops/attention.h"
#include "tenon/nn/linear.h"

namespace tenon {

// Where the tokens of x [B,T,D] stand.
struct SequenceInfo {
  Tensor positions;    // i32 [B,T], within the segment
  Tensor segment_ids;  // i32 [B,T]; tokens see their own segment only
  TENON_TREE(positions, segment_ids)
};

// What a mask sees: positions and segments of queries [B,T] and keys [B,S].
struct MaskArgs {
  Tensor query_positions, key_positions, query_segments, key_segments;
};
// -> i1 [B,T,S]: may the query see the key?
using Mask = Fn<Tensor(const MaskArgs&)>;

// Keys at or before the query, in its segment.
struct CausalMask {
  TENON_FN()
  Tensor operator()(const MaskArgs& args) const;
};
// Of those, the `window` nearest: the query itself and what is less than `window` positions before it.
struct SlidingWindowMask {
  int64_t window = 1024;
  void check(Checker& c) const;
  TENON_FN(window)
  Tensor operator()(const MaskArgs& args) const;
};
// Every key of the query's segment.
struct SegmentMask {
  TENON_FN()
  Tensor operator()(const MaskArgs& args) const;
};

// What attention kernels are told of a mask; empty for a mask they don't know, which they are given as a function.
std::optional<MaskPattern> mask_pattern(const Mask& mask);

struct Qkv {
  Tensor query;       // [B,N,T,H]
  Tensor key, value;  // [B,K,T,H]
};

class QkvProjection : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> input_dim, num_heads, num_kv_heads, head_dim;
    TENON_FIELDS(input_dim, num_heads, num_kv_heads, head_dim)
  };
  // x [B,T,D], positions i32 [B,T].
  virtual Qkv forward(const Tensor& x, const Tensor& positions) const = 0;

 protected:
  explicit QkvProjection(const Config& config) : Module(config) {}
};

// Three linear layers.
class LinearQkv final : public QkvProjection {
 public:
  struct Config : QkvProjection::Config {
    Slot<Linear> linear;
    Config();
    TENON_CONFIG(linear)
  };
  explicit LinearQkv(const Config& config);
  Qkv forward(const Tensor& x, const Tensor& positions) const override;

 private:
  int64_t num_heads_, num_kv_heads_, head_dim_;
  Child<Linear> query_, key_, value_;
};

// Rotates queries and keys of another projection by their positions (Su et al. 2021), first half against second.
class RotaryQkv final : public QkvProjection {
 public:
  struct Config : QkvProjection::Config {
    double theta = 10000;
    Slot<QkvProjection> projection;
    Config();  // projection: LinearQkv
    void check(Checker& c) const;
    TENON_CONFIG(theta, projection)
  };
  explicit RotaryQkv(const Config& config);
  Qkv forward(const Tensor& x, const Tensor& positions) const override;

 private:
  double theta_;
  int64_t head_dim_;
  Child<QkvProjection> projection_;
};

class AttentionCore : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> head_dim;
    Mask mask;
    TENON_FIELDS(head_dim, mask)
  };
  // query [B,N,T,H], key and value [B,K,S,H] -> [B,N,T,H]. N is a multiple of K: heads share keys in groups.
  virtual Tensor forward(const Qkv& qkv, const MaskArgs& mask) const = 0;

 protected:
  explicit AttentionCore(const Config& config) : Module(config) {}
};

// softmax(q k^T / sqrt(H)) v, the softmax in f32 (Vaswani et al. 2017, eq. 1).
class DotProductAttention final : public AttentionCore {
 public:
  struct Config : AttentionCore::Config {
    Config();  // mask: CausalMask
    TENON_CONFIG()
  };
  explicit DotProductAttention(const Config& config);
  Tensor forward(const Qkv& qkv, const MaskArgs& mask) const override;

 private:
  int64_t head_dim_;
  Mask mask_;
};

// The same in blocks of keys, without weights of every query and key in memory: a kernel where the platform has one
// (ir/ops/attention.h).
class FlashAttention final : public AttentionCore {
 public:
  struct Config : AttentionCore::Config {
    double logit_cap = 0;
    int64_t block_size = 512;
    PartitionSpec partition = {{"data", "expert", "fsdp"}, "model"};
    Config();  // mask: CausalMask
    void check(Checker& c) const;
    TENON_CONFIG(logit_cap, block_size, partition)
  };
  explicit FlashAttention(const Config& config);
  Tensor forward(const Qkv& qkv, const MaskArgs& mask) const override;

 private:
  Config config_;
};

class KvCache : public Module {
 public:
  struct Config : Module::Config {
    TENON_FIELDS()
  };
  // Empty, for keys and values of `type` [B,K,S,H], S the longest sequence.
  virtual Nest init(const TensorType& type) const = 0;
  // Writes key and value [B,K,T,H] at places start… of the sequence; returns the cache and what may be attended to.
  virtual std::pair<Nest, Qkv> update(const Nest& cache, const Qkv& qkv, const Tensor& start) const = 0;

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
  std::pair<Nest, Qkv> update(const Nest& cache, const Qkv& qkv, const Tensor& start) const override;
};

class Attention : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> input_dim;
    TENON_FIELDS(input_dim)
  };
  // x [B,T,D] -> [B,T,D].
  virtual Tensor forward(const Tensor& x, const SequenceInfo& info) const = 0;
  // What extend_step carries, for sequences of up to `max_len` tokens.
  virtual Nest init_cache(int64_t batch_size, int64_t max_len) const = 0;
  // The next T tokens x [B,T,D] of sequences that are `start` (i32 scalar) long: equal to those rows of forward.
  virtual std::pair<Nest, Tensor> extend_step(const Nest& cache, const Tensor& x, const Tensor& start) const = 0;

 protected:
  explicit Attention(const Config& config) : Module(config) {}
};

class MultiheadAttention final : public Attention {
 public:
  struct Config : Attention::Config {
    Required<int64_t> num_heads;
    std::optional<int64_t> num_kv_heads;  // empty: num_heads
    std::optional<int64_t> head_dim;      // empty: input_dim / num_heads
    Slot<QkvProjection> qkv;
    Slot<AttentionCore> core;
    Slot<KvCache> kv_cache;
    Slot<Linear> output;
    Config();
    void check(Checker& c) const;
    TENON_CONFIG(num_heads, num_kv_heads, head_dim, qkv, core, kv_cache, output)
  };
  explicit MultiheadAttention(const Config& config);
  Tensor forward(const Tensor& x, const SequenceInfo& info) const override;
  Nest init_cache(int64_t batch_size, int64_t max_len) const override;
  std::pair<Nest, Tensor> extend_step(const Nest& cache, const Tensor& x, const Tensor& start) const override;

 private:
  Tensor project_output(const Tensor& context) const;
  int64_t num_heads_, num_kv_heads_, head_dim_;
  Child<QkvProjection> qkv_;
  Child<AttentionCore> core_;
  Child<KvCache> kv_cache_;
  Child<Linear> output_;
};

}  // namespace tenon
