// What one device does in a step, counted in the optimized program.
#pragma once

#include <cstdint>
#include <map>

#include "tenon/pjrt/hlo_module.h"

namespace tenon {

// Loops' trips included; every branch of a conditional counts.
struct HloWork {
  // Of `dot` instructions, a multiplication and an addition counted apart, by the bits of what they multiply. What
  // compilers write as convolutions or calls of libraries isn't seen.
  std::map<int64_t, double> dot_flops;
  // Bytes read and written (hlo_traffic.h): by instructions that multiply matrices or call kernels, and by others but
  // collectives.
  double product_bytes = 0, other_bytes = 0;
  double instructions = 0;  // that do something, a fusion being one
  double collectives = 0;   // one that is started and awaited apart counts once
};

HloWork count_work(const pjrt::HloModule& module);

}  // namespace tenon
