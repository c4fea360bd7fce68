#pragma once

#include "tenon/nn/module.h"

namespace tenon {

// gate_then_norm: norm(x * silu(gate)), as released Mamba-2 models; norm_then_gate: norm(x) * silu(gate).
enum class GateOrder : uint8_t { gate_then_norm, norm_then_gate };
TENON_ENUM(GateOrder, gate_then_norm, norm_then_gate)

// A root-mean-square norm over each of `num_groups` equal parts of the last dimension, with a gate (Dao & Gu 2024,
// section 7.1).
class GatedNorm final : public Module {
 public:
  struct Config : Module::Config {
    Required<int64_t> input_dim, num_groups;
    double eps = 1e-5;
    GateOrder order = GateOrder::gate_then_norm;
    PartitionSpec scale_partition = {"model"};
    void check(Checker& c) const;
    TENON_CONFIG(input_dim, num_groups, eps, order, scale_partition)
  };
  explicit GatedNorm(const Config& config);
  // Both [..., input_dim] -> the same; computed in f32 (f64), returned in the dtype of `gate`.
  Tensor forward(const Tensor& x, const Tensor& gate) const;

 private:
  Tensor normalize(const Tensor& x) const;
  int64_t num_groups_;
  double eps_;
  GateOrder order_;
  Param scale_;
};

}  // namespace tenon
