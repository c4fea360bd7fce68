#include "tenon/nn/attention/attention_bias.h"

#include <algorithm>
#include <cmath>

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/initializers.h"

namespace tenon {

TENON_INTERFACE(AttentionBias, Module, "what is added to the logits of attention")
TENON_MODULE(AlibiBias, AttentionBias, "-slope * distance, a slope a head; Press et al. 2022")
TENON_MODULE(RelativeBias, AttentionBias, "learned, for each head and bucket of distances; Raffel et al. 2020",
             {"num_buckets", "numbers a head has"}, {"max_distance", "from here on all distances share a bucket"},
             {"bidirectional", "whether half of the buckets are for keys after the query"})
TENON_MODULE(SharedBias, AttentionBias, "the bias that the stack above shares")

namespace {

constexpr int64_t kMaxDistance = int64_t{1} << 20;  // a table has a row for each distance

DType table_dtype() { return wide_dtype(Context::current().compute_dtype()); }

// i32 [B,T,S]: key position - query position.
Tensor relative_positions(const MaskArgs& args) {
  return expand_dims(args.key_positions, 1) - expand_dims(args.query_positions, 2);
}

std::vector<double> powers(int64_t num_heads) {
  std::vector<double> out;
  for (int64_t i = 1; i <= num_heads; ++i) {
    out.push_back(std::exp2(-8.0 * static_cast<double>(i) / static_cast<double>(num_heads)));
  }
  return out;
}

}  // namespace

AlibiBias::AlibiBias(const Config& config) : AttentionBias(config), num_heads_(config.num_heads) {}

std::vector<double> AlibiBias::slopes(int64_t num_heads) {
  int64_t lower = 1;
  while (lower * 2 <= num_heads) lower *= 2;
  std::vector<double> out = powers(lower);
  const std::vector<double> finer = powers(2 * lower);
  for (size_t i = 0; out.size() < static_cast<size_t>(num_heads); i += 2) out.push_back(finer[i]);
  return out;
}

Tensor AlibiBias::forward(const MaskArgs& args) const {
  const DType wide = table_dtype();
  const Tensor distance = expand_dims(convert(abs(relative_positions(args)), wide), 1);  // [B,1,T,S]
  const Tensor slope = constant(Literal::from(wide, {num_heads_, 1, 1}, slopes(num_heads_)));
  return neg(distance * slope);
}

RelativeBias::Config::Config() : init(Normal{0.02}) {}

void RelativeBias::Config::check(Checker& c) const {
  const int64_t directions = bidirectional ? 2 : 1;
  c.require(num_buckets >= 2 * directions && num_buckets % directions == 0, "num_buckets",
            "must be at least 2 for each direction, and even for two");
  c.require(max_distance > num_buckets / directions / 2, "max_distance",
            "must be above half the buckets of a direction");
  c.at_most("max_distance", max_distance, kMaxDistance);
}

RelativeBias::RelativeBias(const Config& config)
    : AttentionBias(config),
      num_buckets_(config.num_buckets),
      max_distance_(config.max_distance),
      bidirectional_(config.bidirectional),
      weight_(this, "weight", {config.num_buckets, config.num_heads}, {{{}, "model"}, config.init, 0}) {}

// In f32, as the published implementations: a distance at the edge of two buckets falls into the same one.
int64_t RelativeBias::bucket(int64_t distance, int64_t num_buckets, int64_t max_distance) {
  const int64_t exact = num_buckets / 2;
  if (distance < exact) return distance;
  const float share = std::log(static_cast<float>(distance) / static_cast<float>(exact)) /
                      static_cast<float>(std::log(static_cast<double>(max_distance) / static_cast<double>(exact)));
  const auto further = static_cast<int64_t>(share * static_cast<float>(num_buckets - exact));
  return std::min(exact + further, num_buckets - 1);
}

Tensor RelativeBias::forward(const MaskArgs& args) const {
  const int64_t of_direction = bidirectional_ ? num_buckets_ / 2 : num_buckets_;
  std::vector<int64_t> buckets;
  for (int64_t d = 0; d <= max_distance_; ++d) buckets.push_back(bucket(d, of_direction, max_distance_));
  const Tensor table = constant(Literal::from(DType::i32, {max_distance_ + 1}, buckets));
  const Tensor relative = relative_positions(args), none = zeros_like(relative);
  Tensor index = take(table, bidirectional_ ? abs(relative) : maximum(neg(relative), none));
  if (bidirectional_) {
    index = index + select(greater(relative, none), full_like(relative, static_cast<double>(of_direction)), none);
  }
  const Tensor rows = take(convert(weight_.full(), table_dtype()), index);  // [B,T,S,N]
  return transpose(rows, {0, 3, 1, 2});
}

Tensor SharedBias::forward(const MaskArgs& args) const {
  const Tensor out = Shared<AttentionBias>("attention_bias").call(&AttentionBias::forward, args);
  if (out.dim(1) == num_heads_) return out;
  throw Error(ErrorCode::shape_mismatch, "the shared bias has another number of heads than the attention")
      .at(Context::current().path())
      .got(std::to_string(out.dim(1)))
      .expected(std::to_string(num_heads_))
      .hint("set num_heads of the stack's attention_bias to that of its layers");
}

}  // namespace tenon
