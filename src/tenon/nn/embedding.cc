#include "tenon/nn/embedding.h"

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/initializers.h"

namespace tenon {

TENON_MODULE(Embedding, Module, "rows of a table by token")

Embedding::Config::Config() : init(Normal{0.02}) {}

void Embedding::Config::check(Checker& c) const {
  c.positive("vocab_size", vocab_size);
  c.positive("embedding_dim", embedding_dim);
}

Embedding::Embedding(const Config& config)
    : Module(config),
      weight_(this, "weight", {config.vocab_size, config.embedding_dim}, {config.weight_partition, config.init, 1}) {}

Tensor Embedding::forward(const Tensor& ids) const { return take(weight_, ids); }

Tensor Embedding::attend(const Tensor& x) const {
  const Tensor table = weight_;
  Dims shape = x.dims();
  shape.back() = table.dim(0);
  const DotDims dims{{}, {}, {1}, {1}};
  return reshape(dot_general(reshape(x, {-1, table.dim(1)}), table, dims), shape);
}

}  // namespace tenon
