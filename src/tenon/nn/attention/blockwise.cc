#include "tenon/nn/attention/blockwise.h"

#include <algorithm>

#include "tenon/ir/ops.h"

namespace tenon {
namespace {

// For so few queries weights of every key are small, and a loop over blocks only costs.
constexpr int64_t kFewQueries = 16;

void refuse(bool is_set, const char* field, std::string_view name, const char* what) {
  if (!is_set) return;
  throw Error(ErrorCode::unsupported, std::string(name) + " " + what)
      .at(field)
      .hint("use the core DotProductAttention, which has the weights of all queries and keys in memory");
}

}  // namespace

void require_blockwise(const AttentionCore::Config& config, std::string_view name) {
  refuse(config.bias.has_value(), "bias", name, "adds no bias to logits");
  refuse(config.dropout > 0, "dropout", name, "drops no weights");
}

AttentionInputs blockwise_inputs(const Qkv& qkv, const MaskArgs& args) {
  return {qkv.query,           qkv.key,          qkv.value, args.query_positions, args.key_positions,
          args.query_segments, args.key_segments};
}

AttentionOptions blockwise_options(const Mask& mask, double scale, double logit_cap, int64_t block_size,
                                   const AttentionInputs& inputs) {
  AttentionOptions options;
  options.scale = scale;
  options.logit_cap = logit_cap;
  options.block = inputs.query.dim(2) <= kFewQueries ? std::max<int64_t>(inputs.key.dim(2), 1) : block_size;
  if (const std::optional<MaskPattern> pattern = mask_pattern(mask)) {
    options.pattern = *pattern;
  } else {
    options.mask = [&mask](const Tensor& queries, const Tensor& keys, const Tensor& query_segments,
                           const Tensor& key_segments) {
      return mask(MaskArgs{queries, keys, query_segments, key_segments});
    };
  }
  return options;
}

Tensor without_sinks(const AttentionResult& result, const Tensor& sinks) {
  const auto& [context, lse] = result;
  if (!sinks) return context;
  // exp(lse) / (exp(lse) + exp(sink)) of the weight is left to the keys.
  const Tensor share = expand_dims(logistic(lse - reshape(sinks, {sinks.dim(0), 1})), 3);
  return convert(convert(context, lse.dtype()) * share, context.dtype());
}

}  // namespace tenon
