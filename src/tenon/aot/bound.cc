#include "tenon/aot/bound.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tenon {
namespace {

std::array<std::pair<std::string_view, double>, 4> parts_of(const StepBound& b) {
  return {{{"compute", b.compute_s}, {"memory", b.memory_s}, {"links", b.link_s}, {"network", b.network_s}}};
}

}  // namespace

double StepBound::seconds() const {
  double most = 0;
  for (const auto& [name, seconds] : parts_of(*this)) most = std::max(most, seconds);
  return most;
}

std::string_view StepBound::by() const {
  std::string_view out;
  double most = 0;
  for (const auto& [name, seconds] : parts_of(*this)) {
    if (seconds > most) out = name;
    most = std::max(most, seconds);
  }
  return out;
}

StepBound bound_step(const StepWork& work, const Chip& chip, int64_t num_links) {
  StepBound out;
  for (const auto& [dtype, flops] : work.flops.products) out.compute_s += ratio_or_zero(flops, chip.peak(dtype));
  // What the mask leaves out may be skipped.
  const double products = work.flops.all_products();
  if (products > 0) out.compute_s *= std::clamp(work.flops.unmasked_products() / products, 0.0, 1.0);
  out.memory_s = ratio_or_zero(work.memory_bytes, chip.memory_speed);
  out.link_s = ratio_or_zero(work.link_bytes, chip.link_speed * static_cast<double>(num_links));
  out.network_s = ratio_or_zero(work.network_bytes, chip.network_speed);
  return out;
}

double mfu(double model_flops, double seconds, int64_t num_devices, const Chip& chip) {
  return ratio_or_zero(ratio_or_zero(model_flops, seconds), static_cast<double>(num_devices) * chip.peak_flops());
}

}  // namespace tenon
