#include "tenon/nn/state_space/gated_norm.h"

#include "tenon/config/define.h"
#include "tenon/config/number_checks.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/initializers.h"

namespace tenon {

TENON_MODULE(GatedNorm, Module, "a root-mean-square norm with a gate",
             {"num_groups", "parts that are normalized apart"}, {"eps", "keeps the root away from zero"},
             {"order", "gate_then_norm: norm(x * silu(gate)); norm_then_gate: norm(x) * silu(gate)"},
             {"scale_partition", "mesh axes of the scale"})

void GatedNorm::Config::check(Checker& c) const {
  c.positive("input_dim", input_dim);
  c.positive("num_groups", num_groups);
  check_above_zero(c, "eps", eps);
  if (num_groups < 1) return;
  c.require(input_dim % num_groups == 0, "num_groups", "must divide input_dim");
}

GatedNorm::GatedNorm(const Config& c)
    : Module(c),
      num_groups_(c.num_groups),
      eps_(c.eps),
      order_(c.order),
      scale_(this, "scale", {c.input_dim}, {c.scale_partition, Constant{1}, 0}) {}

Tensor GatedNorm::normalize(const Tensor& x) const {
  Dims grouped = x.dims();
  grouped.back() /= num_groups_;
  grouped.insert(grouped.end() - 1, num_groups_);
  const Tensor parts = reshape(x, grouped);
  const Tensor unit = parts * rsqrt(mean_keep(parts * parts, {-1}) + eps_);
  return reshape(unit, x.dims()) * convert(scale_.full(), x.dtype());
}

Tensor GatedNorm::forward(const Tensor& x, const Tensor& gate) const {
  const DType wide = wide_dtype(gate.dtype());
  const Tensor g = convert(gate, wide), open = g * logistic(g), y = convert(x, wide);
  const Tensor out = order_ == GateOrder::gate_then_norm ? normalize(y * open) : normalize(y) * open;
  return convert(out, gate.dtype());
}

}  // namespace tenon
