#include "tenon/inference/sampling.h"

#include "tenon/base/error.h"
#include "tenon/base/text.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/random.h"

namespace tenon {
namespace {

// Keeps kNeverSampled / temperature below any logit.
constexpr double kMaxTemperature = 1e6;

}  // namespace

void SamplingOptions::check() const {
  if (!(temperature >= 0 && temperature <= kMaxTemperature)) {
    throw Error(ErrorCode::invalid_argument, "not a temperature")
        .at("temperature")
        .got(format_float(temperature))
        .expected("0 to " + format_float(kMaxTemperature));
  }
  if (top_k < 0) {
    throw Error(ErrorCode::invalid_argument, "top_k must be at least 0")
        .at("top_k")
        .got(std::to_string(top_k))
        .hint("0 means all tokens");
  }
}

namespace {

// Those below the k largest become kNeverSampled.
Tensor keep_top(const Tensor& logits, const Tensor& k) {
  const int64_t B = logits.dim(0), V = logits.dim(1);
  const Tensor zero = zeros({DType::i32, {}}), all = full({DType::i32, {}}, static_cast<double>(V));
  const Tensor count = select(equal(k, zero), all, minimum(k, all));
  const Tensor least = dynamic_slice(sort(logits, 1, true), std::vector<Tensor>{zero, count - 1.0}, {B, 1});
  return select(less(logits, broadcast_to(least, logits.dims())), full_like(logits, kNeverSampled), logits);
}

}  // namespace

Tensor sample_token(const Tensor& logits, const Tensor& temperature, const Tensor& top_k, const Tensor& key,
                    const Tensor& position) {
  const Tensor uniform = random_uniform(fold_in(key, position), logits.dims(), DType::f32);
  const Tensor noise = -log(-log(maximum(uniform, full_like(uniform, 1e-20))));
  const Tensor divisor = maximum(temperature, full_like(temperature, 1e-6));
  const Tensor sampled = argmax(keep_top(logits, top_k) / divisor + noise, 1);
  const Tensor greedy = broadcast_to(equal(temperature, zeros_like(temperature)), {logits.dim(0)});
  return select(greedy, argmax(logits, 1), sampled);
}

}  // namespace tenon
