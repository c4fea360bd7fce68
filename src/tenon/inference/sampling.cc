#include "tenon/inference/sampling.h"

#include <cmath>

#include "tenon/ir/ops.h"
#include "tenon/ir/random.h"

namespace tenon {

void SamplingOptions::check() const {
  if (!(temperature >= 0) || !std::isfinite(temperature)) {
    throw Error(ErrorCode::invalid_argument, "temperature must be at least 0 and finite").at("temperature");
  }
  if (top_k < 0 || top_k > 1'000'000'000) {
    throw Error(ErrorCode::invalid_argument, "top_k must be at least 0").at("top_k").hint("0 means all tokens");
  }
}

Tensor sample_token(const Tensor& logits, const Tensor& temperature, const Tensor& top_k, const Tensor& key,
                    const Tensor& position) {
  const int64_t B = logits.dim(0), V = logits.dim(1);
  const Tensor zero = zeros({DType::i32, {}});
  const Tensor all = full({DType::i32, {}}, static_cast<double>(V));
  const Tensor k = select(equal(top_k, zero), all, minimum(top_k, all));
  const Tensor sorted = sort(logits, 1, true);
  const Tensor least = dynamic_slice(sorted, std::vector<Tensor>{zero, k - 1.0}, {B, 1});
  const Tensor kept = select(greater_equal(logits, broadcast_to(least, logits.dims())), logits, full_like(logits, -1e30));

  const Tensor uniform = random_uniform(fold_in(key, position), {B, V}, DType::f32);
  const Tensor noise = -log(-log(maximum(uniform, full_like(uniform, 1e-20))));
  const Tensor safe = maximum(temperature, full_like(temperature, 1e-6));
  const Tensor sampled = argmax(kept / safe + noise, 1);
  const Tensor greedy = broadcast_to(equal(temperature, zeros_like(temperature)), {B});
  return select(greedy, argmax(logits, 1), sampled);
}

}  // namespace tenon
