#include "tenon/tune/cost.h"

#include <algorithm>
#include <utility>

#include "tenon/aot/hlo_work.h"

namespace tenon {
namespace {

// The dtype that stands for all of its width.
DType of_bits(int64_t bits) {
  switch (bits) {
    case 64:
      return DType::f64;
    case 16:
      return DType::bf16;
    case 8:
      return DType::i8;
    default:
      return DType::f32;
  }
}

double sum_of(const std::map<DType, double>& products) {
  double out = 0;
  for (const auto& [dtype, flops] : products) out += flops;
  return out;
}

// An even share of the graph's, without what masks leave out.
std::map<DType, double> share_of_products(const StepReport& r) {
  std::map<DType, double> out;
  const double all = sum_of(r.flops.products);
  const double kept = all > 0 ? 1 - (r.flops.attention - r.flops.attention_unmasked) / all : 1;
  for (const auto& [dtype, flops] : r.flops.products) {
    out[dtype] = flops * kept / static_cast<double>(r.mesh.num_devices());
  }
  return out;
}

bool has_attention_kernel(const StepReport& r) {
  return std::any_of(r.kernels.begin(), r.kernels.end(), [](const KernelChoice& k) {
    return k.kernel.starts_with("attention") && !k.implementation.empty();
  });
}

// Those of the optimized program, and what attention's kernels multiply.
std::map<DType, double> counted_products(const StepReport& r, const HloWork& work) {
  std::map<DType, double> out;
  for (const auto& [bits, flops] : work.dot_flops) out[of_bits(bits)] += flops;
  if (has_attention_kernel(r)) {
    out[DType::f32] += r.flops.attention_unmasked / static_cast<double>(r.mesh.num_devices());
  }
  return out;
}

}  // namespace

StepCounts count_step(const StepReport& r) {
  StepCounts out;
  out.products = share_of_products(r);
  if (r.collectives) {
    out.link_bytes = r.collectives->link_bytes();
    out.network_bytes = r.collectives->network_bytes();
  }
  if (!r.compiled || !r.compiled->optimized) {
    out.other_bytes = static_cast<double>(r.bytes());
    return out;
  }
  const HloWork work = count_work(*r.compiled->optimized);
  if (r.chip.platform == "cpu") {
    std::map<DType, double> counted = counted_products(r, work);
    // Convolutions aren't among those counted.
    if (sum_of(counted) > sum_of(out.products)) out.products = std::move(counted);
  }
  out.product_bytes = work.product_bytes;
  out.other_bytes = work.other_bytes;
  out.collectives = work.collectives;
  out.instructions = work.instructions;
  return out;
}

double MachineSpeeds::peak(DType dtype) const {
  for (const DType known : {dtype, DType::bf16, DType::f32}) {
    if (const auto at = peaks.find(known); at != peaks.end()) return at->second;
  }
  return 0;
}

MachineSpeeds speeds_of(const Chip& chip, int64_t num_links) {
  return {chip.peaks, chip.memory_speed,   chip.link_speed * static_cast<double>(num_links), chip.network_speed, 0,
          0,          "the table of chips"};
}

StepTime time_step(const StepCounts& counts, const MachineSpeeds& speeds) {
  StepTime out;
  double products = 0;
  for (const auto& [dtype, flops] : counts.products) products += ratio_or_zero(flops, speeds.peak(dtype));
  out.products = std::max(products, ratio_or_zero(counts.product_bytes, speeds.memory));
  out.other = ratio_or_zero(counts.other_bytes, speeds.memory);
  out.links = ratio_or_zero(counts.link_bytes, speeds.links);
  out.network = ratio_or_zero(counts.network_bytes, speeds.network);
  out.collectives = counts.collectives * speeds.collective_s;
  out.instructions = counts.instructions * speeds.instruction_s;
  out.bound = {products, ratio_or_zero(counts.product_bytes + counts.other_bytes, speeds.memory), out.links,
               out.network};
  return out;
}

}  // namespace tenon
