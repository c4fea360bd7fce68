#include "tenon/nn/attention/cross_attention.h"

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/attention/attention.h"

namespace tenon {

TENON_MODULE(CrossAttention, Module, "attention to another sequence; Vaswani et al. 2017, section 3.2.3",
             {"memory_dim", "width of what is attended to; empty: input_dim"},
             {"num_kv_heads", "heads of keys and values; empty: num_heads"},
             {"head_dim", "size of a head; empty: input_dim / num_heads"}, {"linear", "queries, keys and values"})

namespace {

int64_t kv_heads(const CrossAttention::Config& c) { return c.num_kv_heads.value_or(c.num_heads); }
int64_t head_size(const CrossAttention::Config& c) { return c.head_dim ? *c.head_dim : c.input_dim / c.num_heads; }

FlashAttention::Config segment_core() {
  FlashAttention::Config c;
  c.mask = SegmentMask{};
  return c;
}

}  // namespace

CrossAttention::Config::Config() : linear(Linear::Config{}), core(segment_core()), output(output_linear()) {}

void CrossAttention::Config::check(Checker& c) const {
  c.positive("input_dim", input_dim);
  c.positive("num_heads", num_heads);
  c.positive("memory_dim", memory_dim);
  c.positive("head_dim", head_dim);
  if (num_heads < 1) return;
  c.require(head_dim || input_dim % num_heads == 0, "num_heads", "must divide input_dim, or head_dim be set");
  c.require(!num_kv_heads || (*num_kv_heads > 0 && num_heads % *num_kv_heads == 0), "num_kv_heads",
            "must divide num_heads");
}

CrossAttention::CrossAttention(const Config& c)
    : Module(c),
      num_heads_(c.num_heads),
      num_kv_heads_(kv_heads(c)),
      head_dim_(head_size(c)),
      query_(this, "query", c.linear, linear_dims(c.input_dim, num_heads_ * head_dim_)),
      key_(this, "key", c.linear, linear_dims(c.memory_dim.value_or(c.input_dim), num_kv_heads_ * head_dim_)),
      value_(this, "value", c.linear, linear_dims(c.memory_dim.value_or(c.input_dim), num_kv_heads_ * head_dim_)),
      core_(this, "core", c.core,
            [&](AttentionCore::Config& p) {
              p.head_dim = head_dim_;
              p.num_heads = num_heads_;
            }),
      output_(this, "output", c.output, linear_dims(num_heads_ * head_dim_, c.input_dim)) {}

Tensor CrossAttention::project_output(const Tensor& context) const {
  return tag(output_(join_heads(context)), "o_proj");
}

Tensor CrossAttention::queries(const Tensor& x) const {
  return split_heads(tag(query_(x), "q_proj"), num_heads_, head_dim_);
}

Qkv CrossAttention::keys(const Memory& memory) const {
  if (!memory.states) {
    throw Error(ErrorCode::missing_field, "cross attention without a memory to attend to")
        .at(Context::current().path())
        .hint("layers with cross attention go into a model that has one, as EncoderDecoder");
  }
  return {{},
          split_heads(tag(key_(memory.states), "k_proj"), num_kv_heads_, head_dim_),
          split_heads(tag(value_(memory.states), "v_proj"), num_kv_heads_, head_dim_)};
}

Tensor CrossAttention::forward(const Tensor& x, const SequenceInfo& info) const {
  Qkv qkv = keys(info.memory);
  qkv.query = queries(x);
  const MaskArgs args{info.positions, info.memory.positions, info.segment_ids, info.memory.segment_ids};
  return project_output(core_(qkv, args));
}

Nest CrossAttention::init_cache(int64_t batch_size, int64_t memory_len) const {
  const TensorType type{Context::current().compute_dtype(), {batch_size, num_kv_heads_, memory_len, head_dim_}};
  const TensorType tokens{DType::i32, {batch_size, memory_len}};
  return {{"key", zeros(type)}, {"value", zeros(type)}, {"positions", zeros(tokens)}, {"segments", zeros(tokens)}};
}

Nest CrossAttention::read_memory(const Memory& memory) const {
  const Qkv qkv = keys(memory);
  const Tensor& segments = memory.segment_ids;
  const Tensor of_row = broadcast_to(slice_dim(segments, 1, 0, 1), segments.dims());
  return {{"key", qkv.key},
          {"value", qkv.value},
          {"positions", memory.positions},
          {"segments", convert(not_equal(segments, of_row), DType::i32)}};
}

Tensor CrossAttention::extend_step(const Nest& cache, const Tensor& x, const DecodeStep& step) const {
  const int64_t B = x.dim(0), T = x.dim(1);
  const Tensor positions = step_positions(step, B, T);
  const MaskArgs args{positions, cache.at("positions"), zeros({DType::i32, {B, T}}), cache.at("segments")};
  const Qkv qkv{queries(x), cache.at("key"), cache.at("value")};
  return project_output(core_(qkv, args));
}

}  // namespace tenon
