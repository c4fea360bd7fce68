// Attention by kernels in Triton's dialect, which XLA's GPU compiler takes as text.
#pragma once

#include "tenon/passes/select_kernels.h"

namespace tenon {

// Take f32, f16 and bf16, any lengths, head dims up to 256, every mask but functions, logit caps, grouped queries, and
// gradients of lse; skip blocks that no query of a block sees. `compute_capability`: 90 for 9.0, 0 when not known.
KernelList triton_attention_kernels(int compute_capability);

}  // namespace tenon
