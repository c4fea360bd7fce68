#include <cmath>

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/attention.h"

namespace tenon {

TENON_MODULE(FlashAttention, AttentionCore,
             "softmax(q k^T / sqrt(H)) v in blocks, by the platform's kernel if it has one",
             {"logit_cap", "above 0: logits x become cap * tanh(x / cap)"},
             {"block_size", "keys looked at together where there is no kernel"},
             {"partition", "mesh axes of the batch and of the heads"})

namespace {

// For so few queries weights of every key are small, and a loop over blocks only costs.
constexpr int64_t kFewQueries = 16;

}  // namespace

FlashAttention::Config::Config() { mask = CausalMask{}; }

void FlashAttention::Config::check(Checker& c) const {
  c.at_least("logit_cap", logit_cap, 0);
  c.positive("block_size", block_size);
}

FlashAttention::FlashAttention(const Config& config) : AttentionCore(config), config_(config) {}

Tensor FlashAttention::forward(const Qkv& qkv, const MaskArgs& args) const {
  if (qkv.query.dim(-1) != config_.head_dim) {
    throw Error(ErrorCode::shape_mismatch, "heads have another size than head_dim")
        .at(Context::current().path())
        .got(to_string(qkv.query.type()));
  }
  AttentionOptions options;
  options.scale = 1 / std::sqrt(static_cast<double>(qkv.query.dim(3)));
  options.logit_cap = config_.logit_cap;
  options.block = qkv.query.dim(2) <= kFewQueries ? std::max<int64_t>(qkv.key.dim(2), 1) : config_.block_size;
  options.partition = config_.partition;
  if (const std::optional<MaskPattern> pattern = mask_pattern(config_.mask)) {
    options.pattern = *pattern;
  } else {
    options.mask = [this](const Tensor& queries, const Tensor& keys, const Tensor& query_segments,
                          const Tensor& key_segments) {
      return config_.mask(MaskArgs{queries, keys, query_segments, key_segments});
    };
  }
  return attention({qkv.query, qkv.key, qkv.value, args.query_positions, args.key_positions, args.query_segments,
                    args.key_segments},
                   options)
      .context;
}

}  // namespace tenon
