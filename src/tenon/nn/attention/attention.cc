#include "tenon/nn/attention/attention.h"

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"

namespace tenon {

TENON_INTERFACE(Attention, Module, "mixes the tokens of a sequence")
TENON_MODULE(MultiheadAttention, Attention, "heads that attend, and a projection back",
             {"num_kv_heads", "heads of keys and values; empty: num_heads"},
             {"head_dim", "size of a head; empty: input_dim / num_heads"})

namespace {

int64_t kv_heads(const MultiheadAttention::Config& c) { return c.num_kv_heads.value_or(c.num_heads); }
int64_t head_size(const MultiheadAttention::Config& c) { return c.head_dim ? *c.head_dim : c.input_dim / c.num_heads; }

// Positions that the mask lets a query look back over; 0: all.
int64_t window(const MultiheadAttention::Config& c) {
  const std::optional<MaskPattern> pattern = c.core->mask ? mask_pattern(c.core->mask) : std::nullopt;
  return pattern && pattern->causal ? pattern->window : 0;
}

}  // namespace

Tensor join_heads(const Tensor& x) {
  const Tensor rows = transpose(x, {0, 2, 1, 3});  // [B,T,N,H]
  return reshape(tag(rows, "context"), {rows.dim(0), rows.dim(1), rows.dim(2) * rows.dim(3)});
}

Linear::Config output_linear() {
  Linear::Config c;
  c.weight_partition = {"model", "fsdp"};
  return c;
}

MultiheadAttention::Config::Config()
    : qkv(RotaryQkv::Config{}),
      core(FlashAttention::Config{}),
      kv_cache(DenseKvCache::Config{}),
      output(output_linear()) {}

void MultiheadAttention::Config::check(Checker& c) const {
  c.positive("input_dim", input_dim);
  c.positive("num_heads", num_heads);
  if (num_heads < 1) return;
  c.require(head_dim || input_dim % num_heads == 0, "num_heads", "must divide input_dim, or head_dim be set");
  c.positive("head_dim", head_dim);
  c.require(!num_kv_heads || (*num_kv_heads > 0 && num_heads % *num_kv_heads == 0), "num_kv_heads",
            "must divide num_heads");
}

MultiheadAttention::MultiheadAttention(const Config& c)
    : Attention(c),
      num_kv_heads_(kv_heads(c)),
      head_dim_(head_size(c)),
      qkv_(this, "qkv", c.qkv,
           [&](QkvProjection::Config& p) {
             p.input_dim = c.input_dim;
             p.num_heads = c.num_heads;
             p.num_kv_heads = num_kv_heads_;
             p.head_dim = head_dim_;
           }),
      core_(this, "core", c.core,
            [&](AttentionCore::Config& p) {
              p.head_dim = head_dim_;
              p.num_heads = c.num_heads;
            }),
      kv_cache_(this, "kv_cache", c.kv_cache, [&](KvCache::Config& k) { k.window = window(c); }),
      output_(this, "output", c.output, [&](Linear::Config& l) {
        l.input_dim = c.num_heads * head_dim_;
        l.output_dim = c.input_dim;
      }) {}

Tensor MultiheadAttention::project_output(const Tensor& context) const {
  return tag(output_(join_heads(context)), "o_proj");
}

Tensor MultiheadAttention::forward(const Tensor& x, const SequenceInfo& info) const {
  const Qkv qkv = qkv_(x, info.positions);
  return project_output(core_(qkv, MaskArgs{info.positions, info.positions, info.segment_ids, info.segment_ids}));
}

Nest MultiheadAttention::init_cache(int64_t batch_size, int64_t max_len) const {
  return kv_cache_.call(
      &KvCache::init, TensorType{Context::current().compute_dtype(), {batch_size, num_kv_heads_, max_len, head_dim_}});
}

std::pair<Nest, Tensor> MultiheadAttention::extend_step(const Nest& cache, const Tensor& x,
                                                        const DecodeStep& step) const {
  const int64_t B = x.dim(0), T = x.dim(1);
  const Tensor positions = step_positions(step, B, T);
  CachedKeys keys = kv_cache_.call(&KvCache::update, cache, qkv_(x, positions), step);
  const MaskArgs mask{positions, keys.key_positions, zeros({DType::i32, {B, T}}), keys.key_segments};
  return {std::move(keys.cache), project_output(core_(keys.all, mask))};
}

}  // namespace tenon
