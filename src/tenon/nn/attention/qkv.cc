#include "tenon/nn/attention/qkv.h"

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"

namespace tenon {

TENON_INTERFACE(QkvProjection, Module, "queries, keys and values of attention")
TENON_MODULE(LinearQkv, QkvProjection, "a linear layer each")
TENON_MODULE(NormedQkv, QkvProjection, "normalizes each head of queries and keys", {"norm", "one each is made of it"},
             {"projection", "what is normalized"})

namespace {}  // namespace

Tensor split_heads(const Tensor& x, int64_t num_heads, int64_t head_dim) {
  return transpose(reshape(x, {x.dim(0), x.dim(1), num_heads, head_dim}), {0, 2, 1, 3});
}

LinearQkv::Config::Config() : linear(Linear::Config{}) {}

LinearQkv::LinearQkv(const Config& c)
    : QkvProjection(c),
      num_heads_(c.num_heads),
      num_kv_heads_(c.num_kv_heads),
      head_dim_(c.head_dim),
      query_(this, "query", c.linear, linear_dims(c.input_dim, c.num_heads * c.head_dim)),
      key_(this, "key", c.linear, linear_dims(c.input_dim, c.num_kv_heads * c.head_dim)),
      value_(this, "value", c.linear, linear_dims(c.input_dim, c.num_kv_heads * c.head_dim)) {}

Qkv LinearQkv::forward(const Tensor& x, const Tensor&) const {
  return {split_heads(tag(query_(x), "q_proj"), num_heads_, head_dim_),
          split_heads(tag(key_(x), "k_proj"), num_kv_heads_, head_dim_),
          split_heads(tag(value_(x), "v_proj"), num_kv_heads_, head_dim_)};
}

NormedQkv::Config::Config() : norm(RMSNorm::Config{}), projection(LinearQkv::Config{}) {}

NormedQkv::NormedQkv(const Config& c)
    : QkvProjection(c),
      projection_(this, "projection", c.projection, [&](auto& p) { fill_inner(c, p); }),
      query_norm_(this, "query_norm", c.norm, [&](Norm::Config& n) { n.input_dim = c.head_dim; }),
      key_norm_(this, "key_norm", c.norm, [&](Norm::Config& n) { n.input_dim = c.head_dim; }) {}

Qkv NormedQkv::forward(const Tensor& x, const Tensor& positions) const {
  Qkv qkv = projection_(x, positions);
  qkv.query = query_norm_(qkv.query);
  qkv.key = key_norm_(qkv.key);
  return qkv;
}

void fill_inner(const QkvProjection::Config& outer, QkvProjection::Config& inner) {
  inner.input_dim = outer.input_dim;
  inner.num_heads = outer.num_heads;
  inner.num_kv_heads = outer.num_kv_heads;
  inner.head_dim = outer.head_dim;
}

}  // namespace tenon
