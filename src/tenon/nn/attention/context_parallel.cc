#include "tenon/nn/attention/context_parallel.h"

#include <fmt/format.h>

#include "tenon/config/define.h"
#include "tenon/ir/mesh_scope.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/ops/manual.h"
#include "tenon/nn/attention/blockwise.h"
#include "tenon/nn/attention/ring_attention.h"
#include "tenon/nn/position/token_order.h"

namespace tenon {

TENON_MODULE(ContextParallelAttention, AttentionCore,
             "FlashAttention over sequences that are split over the mesh axis 'seq'",
             {"exchange", "all_gather: keys of all devices at once; ring: passed around piece by piece"},
             {"block_size", "keys looked at together where there is no kernel"},
             {"partition", "mesh axes of the batch and of the heads"})

namespace {

constexpr const char* kAxis = "seq";

void require_divides(const Mesh& mesh, const char* what, int64_t size, const Axis& axis, const char* hint) {
  const int64_t pieces = mesh.shards(axis);
  if (size % pieces == 0) return;
  throw Error(ErrorCode::mesh_mismatch, fmt::format("{} don't divide over the mesh {}", what, to_string(mesh)))
      .at(Context::current().path())
      .got(fmt::format("{} over {}", size, pieces))
      .hint(hint);
}

}  // namespace

ContextParallelAttention::Config::Config() { mask = CausalMask{}; }

void ContextParallelAttention::Config::check(Checker& c) const {
  c.positive("block_size", block_size);
  c.require(partition.dims().size() <= 2, "partition", "has an entry for the batch and one for the heads");
}

ContextParallelAttention::ContextParallelAttention(const Config& config)
    : AttentionCore(config),
      exchange_(config.exchange),
      logit_cap_(config.logit_cap),
      block_size_(config.block_size),
      partition_(config.partition) {
  require_blockwise(config, "ContextParallelAttention");
}

Tensor ContextParallelAttention::forward(const Qkv& qkv, const MaskArgs& args) const {
  check_heads(qkv);
  const AttentionInputs inputs = blockwise_inputs(qkv, args);
  AttentionOptions options = blockwise_options(mask(), scale(), logit_cap_, block_size_, inputs);
  AttentionResult result;
  if (program_mesh().size(kAxis) == 1) {
    options.partition = partition_;
    result = attention(inputs, options);
  } else {
    result = split_over_devices(inputs, std::move(options));
  }
  return without_sinks(result, sink(result.lse.dtype()));
}

AttentionResult ContextParallelAttention::split_over_devices(const AttentionInputs& in,
                                                             AttentionOptions options) const {
  if (manual_scope() != nullptr) {
    throw Error(ErrorCode::unsupported, "context-parallel attention inside a manual region")
        .at(Context::current().path())
        .hint("use the core FlashAttention there, whose sequences are whole");
  }
  const Mesh& mesh = program_mesh();
  std::vector<Axis> axes = partition_.dims();
  axes.resize(2);
  const Axis &batch = axes[0], &heads = axes[1], tokens = kAxis;
  require_divides(mesh, "examples", in.query.dim(0), batch, "choose another batch size or accumulation");
  require_divides(mesh, "queries", in.query.dim(2), tokens, "choose another data.sequence_length");
  require_divides(mesh, "keys", in.key.dim(2), tokens, "choose another data.sequence_length");
  require_divides(mesh, "heads of keys", in.key.dim(1), heads,
                  "leave heads whole: partition = \"data+expert+fsdp,-\", or choose a smaller axis");
  const PartitionSpec of_heads{batch, heads, tokens}, of_tokens{batch, tokens};
  const SequenceSplit split{kAxis, mesh.size(kAxis), token_order() == TokenOrder::zigzag};
  const std::vector<Tensor> out = manual(
      mesh, {in.query, in.key, in.value, in.query_positions, in.key_positions, in.query_segments, in.key_segments},
      {of_heads, of_heads, of_heads, of_tokens, of_tokens, of_tokens, of_tokens}, {of_heads, of_heads},
      [&](const std::vector<Tensor>& t) {
        const AttentionInputs mine{t[0], t[1], t[2], t[3], t[4], t[5], t[6]};
        const AttentionResult r = exchange_ == KeyExchange::ring ? ring_attention(mine, options, split)
                                                                 : gathered_attention(mine, options, split);
        return std::vector<Tensor>{r.context, r.lse};
      });
  return {out[0], out[1]};
}

}  // namespace tenon
