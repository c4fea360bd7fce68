// cuDNN's attention, forward and backward, as XLA's GPU compiler knows it.
#pragma once

#include "tenon/passes/select_kernels.h"

namespace tenon {

// Take f16 and bf16, head dims up to 128 that are multiples of 8, every key or causal masks with or without a window,
// where positions are known to be places in the row and all tokens of a row are one segment. `compute_capability`: 90
// for 9.0, 0 when not known.
KernelList cudnn_attention_kernels(int compute_capability);

}  // namespace tenon
