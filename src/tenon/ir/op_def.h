// The op table: everything the system knows of an op, in one row.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "tenon/ir/trace.h"

namespace tenon {

class HloWriter;
struct KernelDef;

// What shape inference sees. It throws `shape_mismatch` or `invalid_argument`; the trace adds op and module path.
struct InferArgs {
  const Trace& trace;
  std::vector<TensorType> operands;
  const Attrs& attrs;
  std::span<const RegionId> regions;
};

struct EvalArgs {
  const Trace& trace;
  const OpInfo& op;
  std::vector<const Literal*> operands;
  std::vector<TensorType> results;
  // Interprets a region of the op.
  std::function<std::vector<Literal>(RegionId, std::vector<Literal>)> run;
  // Interprets a region that captures nothing on each of these devices, at the same time.
  std::function<std::vector<std::vector<Literal>>(RegionId, const std::vector<int64_t>& devices,
                                                  std::vector<std::vector<Literal>> args)>
      run_devices = {};
  // In a manual region: this device, and what every device brings to this op. Empty outside.
  int64_t device = 0;
  std::function<std::map<int64_t, Literal>(const Literal& mine)> exchange = {};
  const Attrs& attrs() const { return op.attrs; }
  const Literal& operand(size_t i) const { return *operands[i]; }
};

struct VjpArgs {
  const Attrs& attrs;
  std::vector<Tensor> operands, results;
  std::vector<Tensor> cotangents;  // one per result; empty: zero
  std::vector<bool> active;        // which operands want a cotangent
  std::vector<RegionId> regions = {};
  const Tensor& operand(size_t i) const { return operands[i]; }
  const Tensor& cotangent() const { return cotangents[0]; }
};

enum class Recompute : uint8_t {
  cheap,      // its FLOPs say how dear it is
  expensive,  // loops, sorts, scatters: saved unless a policy says otherwise
};

struct OpDef {
  std::string_view name;
  // Types of the results.
  std::vector<TensorType> (*infer)(const InferArgs&);
  // StableHLO text of one op.
  void (*print)(HloWriter&, const OpInfo&);
  // The reference meaning, in plain loops.
  std::vector<Literal> (*eval)(const EvalArgs&);
  // Cotangents of the operands (empty: none). Null: no gradient, `vjp_note` says why, or that it is structural.
  std::vector<Tensor> (*vjp)(const VjpArgs&) = nullptr;
  std::string_view vjp_note = {};
  // Floating-point operations, multiply and add counted apart. Null: one per result element.
  double (*flops)(const Trace&, const OpInfo&) = nullptr;
  Recompute recompute = Recompute::cheap;
  // What a kernel says besides; null for other ops.
  const KernelDef* kernel = nullptr;
};

// Every op that means the same on every platform, by name: all but custom_call (ops/custom_call.h).
std::span<const OpDef* const> op_table();

double op_flops(const Trace& trace, const OpInfo& op);
double count_flops(const Trace& trace, RegionId region);

}  // namespace tenon
