#include "tenon/nn/basic/embedding.h"

#include "tenon/config/define.h"
#include "tenon/config/number_checks.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/initializers.h"

namespace tenon {

TENON_MODULE(Embedding, Module, "rows of a table by token", {"multiplier", "of a row when it is read as an input"})

Embedding::Config::Config() : init(Normal{0.02}) {}

void Embedding::Config::check(Checker& c) const {
  c.positive("vocab_size", vocab_size);
  c.positive("embedding_dim", embedding_dim);
  check_above_zero(c, "multiplier", multiplier);
}

Embedding::Embedding(const Config& config)
    : Module(config),
      multiplier_(config.multiplier),
      weight_(this, "weight", {config.vocab_size, config.embedding_dim}, {config.weight_partition, config.init, 1}) {}

// What splits the table's width is gathered first, as it is of any weight. From rows split by width to examples split
// over several axes XLA knows no way but giving every device everything.
Tensor Embedding::forward(const Tensor& ids) const {
  const Tensor rows = take(shard(weight_, axis_of(weight_.spec().partition, 0)), ids);
  return multiplier_ == 1 ? rows : rows * multiplier_;
}

Tensor Embedding::attend(const Tensor& x) const {
  const Tensor table = weight_;
  Dims shape = x.dims();
  shape.back() = table.dim(0);
  const DotDims dims{{}, {}, {1}, {1}};
  return reshape(dot_general(reshape(x, {-1, table.dim(1)}), table, dims), shape);
}

}  // namespace tenon
