// Which NVIDIA chips the attention kernels run on.
#pragma once

#include <string>

namespace tenon {

// Why a chip older than Ampere isn't taken; empty for others, and when `compute_capability`
// (90 for 9.0) is 0: not known.
std::string refuse_before_ampere(int compute_capability);

}  // namespace tenon
