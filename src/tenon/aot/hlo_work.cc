#include "tenon/aot/hlo_work.h"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

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

// An instruction that is a product, or a fusion of a computation that has one.
bool has_product(const HloInstruction& i, const std::vector<bool>& with_product) {
  return is_product(i) || (i.opcode == "fusion" && !i.called.empty() && with_product[i.called[0]]);
}

// Of each computation whether it has one, fusions within fusions included. Callees come first.
std::vector<bool> find_products(const HloModule& module) {
  std::vector<bool> out;
  for (const HloComputation& c : module.computations) {
    out.push_back(std::ranges::any_of(c.instructions, [&](const HloInstruction& i) { return has_product(i, out); }));
  }
  return out;
}

}  // namespace

HloWork count_work(const HloModule& module) {
  const HloRuns runs = count_runs(module);
  const std::set<size_t> inner = inner_computations(module);
  const std::vector<bool> with_product = find_products(module);
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
      (has_product(i, with_product) ? out.product_bytes : out.other_bytes) += bytes;
      out.instructions += times;
    }
  }
  return out;
}

}  // namespace tenon
