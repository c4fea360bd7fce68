// Attention by kernels for TPUs, which libtpu takes as text of its Mosaic dialect.
#pragma once

#include "tenon/passes/select_kernels.h"

namespace tenon {

// Take f32 and bf16, rows of at least 128 queries and keys, head dims up to 256, every mask but functions, logit caps,
// grouped queries, and gradients of lse; neither fetch nor compute blocks that no query of a block sees.
KernelList mosaic_attention_kernels();

}  // namespace tenon
