// Attention of one sequence to another.
//
// Letters: B batch, T queries, S tokens of the memory, D model.
#pragma once

#include <optional>

#include "tenon/nn/attention/attention_core.h"
#include "tenon/nn/transformer/sequence.h"

namespace tenon {

// Queries from x, keys and values from the memory (Vaswani et al. 2017, section 3.2.3). The tokens of a segment see the
// memory's tokens of the same segment.
class CrossAttention final : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> input_dim, num_heads;
    std::optional<int64_t> memory_dim;    // empty: input_dim
    std::optional<int64_t> num_kv_heads;  // empty: num_heads
    std::optional<int64_t> head_dim;      // empty: input_dim / num_heads
    Slot<Linear> linear;                  // queries, keys and values
    Slot<AttentionCore> core;
    Slot<Linear> output;
    Config();  // core: FlashAttention with SegmentMask
    void check(Checker& c) const;
    TENON_CONFIG(input_dim, num_heads, memory_dim, num_kv_heads, head_dim, linear, core, output)
  };
  explicit CrossAttention(const Config& config);
  // x [B,T,D] -> [B,T,D]. Throws `missing_field` when `info` has no memory.
  Tensor forward(const Tensor& x, const SequenceInfo& info) const;
  // What extend_step reads, still empty; then what it holds for a memory, each row of which is one text: the segment of
  // its first token, other tokens being padding.
  Nest init_cache(int64_t batch_size, int64_t memory_len) const;
  Nest read_memory(const Memory& memory) const;
  // The next tokens x [B,T,D] of sequences: equal to those rows of forward.
  Tensor extend_step(const Nest& cache, const Tensor& x, const DecodeStep& step) const;

 private:
  Tensor project_output(const Tensor& context) const;
  Tensor queries(const Tensor& x) const;
  Qkv keys(const Memory& memory) const;
  int64_t num_heads_, num_kv_heads_, head_dim_;
  Child<Linear> query_, key_, value_;
  Child<AttentionCore> core_;
  Child<Linear> output_;
};

}  // namespace tenon
