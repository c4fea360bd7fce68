#include "tenon/aot/hlo_work.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "tenon/aot/collectives.h"
#include "tenon/aot/hlo_runs.h"
#include "tenon/aot/hlo_traffic.h"

namespace tenon {
namespace {

using pjrt::HloComputation;
using pjrt::HloInstruction;
using pjrt::HloModule;

double elements(const Dims& dims) {
  double out = 1;
  for (const int64_t d : dims) out *= static_cast<double>(d);
  return out;
}

double dot_flops(const HloComputation& c, const HloInstruction& dot) {
  double summed = 1;
  for (const int64_t d : dot.contracted) {
    summed *= static_cast<double>(c.instructions[dot.operands[0]].shape.dims[static_cast<size_t>(d)]);
  }
  return 2 * summed * elements(dot.shape.dims);
}

bool is_product(const HloInstruction& i) {
  return i.opcode == "dot" || i.opcode == "convolution" || i.opcode == "custom-call";
}

// An instruction that is a product, or a fusion that has one in it.
bool has_product(const HloModule& module, const HloInstruction& i) {
  if (is_product(i)) return true;
  if (i.opcode != "fusion" || i.called.empty()) return false;
  const std::vector<HloInstruction>& inner = module.computations[i.called[0]].instructions;
  return std::any_of(inner.begin(), inner.end(), is_product);
}

}  // namespace

HloWork count_work(const HloModule& module) {
  const HloRuns runs = count_runs(module);
  const std::set<size_t> inner = inner_computations(module);
  HloWork out;
  for (size_t c = 0; c < module.computations.size(); ++c) {
    const HloComputation& computation = module.computations[c];
    const double times = runs.times[c];
    if (times == 0) continue;
    for (const HloInstruction& i : computation.instructions) {
      if (i.opcode == "dot" && !i.operands.empty()) {
        const int64_t bits = computation.instructions[i.operands[0]].shape.element_bits;
        out.dot_flops[bits] += times * dot_flops(computation, i);
      }
      if (inner.contains(c)) continue;
      if (!collective_kind(i.opcode).empty()) {
        out.collectives += times;
        continue;
      }
      const double bytes = times * traffic_of(module, computation, i);
      if (bytes == 0) continue;
      (has_product(module, i) ? out.product_bytes : out.other_bytes) += bytes;
      out.instructions += times;
    }
  }
  return out;
}

}  // namespace tenon
