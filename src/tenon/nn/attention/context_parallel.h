// Attention over sequences that are split over devices.
//
// Letters: B batch, T tokens, N heads.
#pragma once

#include "tenon/nn/attention/attention_core.h"

namespace tenon {

// How devices get to see each other's keys. all_gather: all at once. ring: piece by piece, passed around.
enum class KeyExchange : uint8_t { all_gather, ring };
TENON_ENUM(KeyExchange, all_gather, ring)

// FlashAttention whose queries, keys and values are split along T over the mesh axis `seq`, by ring_attention.h; the
// same as FlashAttention where that axis is 1. Takes no bias and drops no weights.
class ContextParallelAttention final : public AttentionCore {
 public:
  struct Config : AttentionCore::Config {
    KeyExchange exchange = KeyExchange::ring;
    int64_t block_size = 512;
    PartitionSpec partition = {{"data", "expert", "fsdp"}, "model"};
    Config();  // mask: CausalMask
    void check(Checker& c) const;
    TENON_CONFIG(exchange, block_size, partition)
  };
  explicit ContextParallelAttention(const Config& config);
  // Throws `mesh_mismatch` when tokens, heads or the batch don't divide over the mesh.
  Tensor forward(const Qkv& qkv, const MaskArgs& args) const override;

 private:
  AttentionResult split_over_devices(const AttentionInputs& inputs, AttentionOptions options) const;

  KeyExchange exchange_;
  double logit_cap_;
  int64_t block_size_;
  PartitionSpec partition_;
};

}  // namespace tenon
