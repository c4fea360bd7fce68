#include "tenon/kernels/cuda/attention_chips.h"

#include <fmt/format.h>

namespace tenon {

std::string refuse_before_ampere(int compute_capability) {
  if (compute_capability == 0 || compute_capability >= 80) return {};
  return fmt::format("takes compute capability 8.0 and above, not {}.{}", compute_capability / 10,
                     compute_capability % 10);
}

}  // namespace tenon
