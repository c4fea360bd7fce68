#include <algorithm>

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/attention/attention_core.h"

namespace tenon {

TENON_MODULE(FlashAttention, AttentionCore,
             "softmax(q k^T / sqrt(H)) v in blocks, by the platform's kernel if it has one",
             {"block_size", "keys looked at together where there is no kernel"},
             {"partition", "mesh axes of the batch and of the heads"})

namespace {

// For so few queries weights of every key are small, and a loop over blocks only costs.
constexpr int64_t kFewQueries = 16;

void refuse(bool is_set, const char* field, const char* what) {
  if (!is_set) return;
  throw Error(ErrorCode::unsupported, std::string("FlashAttention ") + what)
      .at(field)
      .hint("use the core DotProductAttention, which has the weights of all queries and keys in memory");
}

}  // namespace

FlashAttention::Config::Config() { mask = CausalMask{}; }

void FlashAttention::Config::check(Checker& c) const { c.positive("block_size", block_size); }

FlashAttention::FlashAttention(const Config& config)
    : AttentionCore(config),
      logit_cap_(config.logit_cap),
      block_size_(config.block_size),
      partition_(config.partition) {
  refuse(config.bias.has_value(), "bias", "adds no bias to logits");
  refuse(config.dropout > 0, "dropout", "drops no weights");
}

Tensor FlashAttention::forward(const Qkv& qkv, const MaskArgs& args) const {
  check_heads(qkv);
  AttentionOptions options;
  options.scale = scale();
  options.logit_cap = logit_cap_;
  options.block = qkv.query.dim(2) <= kFewQueries ? std::max<int64_t>(qkv.key.dim(2), 1) : block_size_;
  options.partition = partition_;
  if (const std::optional<MaskPattern> pattern = mask_pattern(mask())) {
    options.pattern = *pattern;
  } else {
    options.mask = [this](const Tensor& queries, const Tensor& keys, const Tensor& query_segments,
                          const Tensor& key_segments) {
      return mask()(MaskArgs{queries, keys, query_segments, key_segments});
    };
  }
  const auto [context, lse] = attention(
      {qkv.query, qkv.key, qkv.value, args.query_positions, args.key_positions, args.query_segments, args.key_segments},
      options);
  const Tensor sinks = sink(lse.dtype());
  if (!sinks) return context;
  // exp(lse) / (exp(lse) + exp(sink)) of the weight is left to the keys.
  const Tensor share = expand_dims(logistic(lse - reshape(sinks, {sinks.dim(0), 1})), 3);
  return convert(convert(context, lse.dtype()) * share, context.dtype());
}

}  // namespace tenon
