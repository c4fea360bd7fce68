#include "tenon/config/define.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/attention.h"

namespace tenon {

TENON_INTERFACE(KvCache, Module, "keys and values of the tokens so far")
TENON_MODULE(DenseKvCache, KvCache, "arrays of the longest sequence")

Nest DenseKvCache::init(const TensorType& type) const { return {{"key", zeros(type)}, {"value", zeros(type)}}; }

std::pair<Nest, Qkv> DenseKvCache::update(const Nest& cache, const Qkv& qkv, const Tensor& start) const {
  const Tensor zero = full({DType::i32, {}}, 0);
  const std::vector<Tensor> at{zero, zero, start, zero};
  const auto write = [&](const char* name, const Tensor& x) {
    const Tensor& whole = cache.at(name);
    return dynamic_update_slice(whole, convert(x, whole.dtype()), at);
  };
  // Behind the barrier each write has one use; otherwise XLA fuses it into every reader, and copies the cache for each.
  const std::vector<Tensor> written = optimization_barrier({write("key", qkv.key), write("value", qkv.value)});
  Nest next{{"key", written[0]}, {"value", written[1]}};
  Qkv all{qkv.query, convert(next.at("key"), qkv.query.dtype()), convert(next.at("value"), qkv.query.dtype())};
  return {std::move(next), std::move(all)};
}

}  // namespace tenon
