// The recurrence of Mamba-2, a linear one whose decay is a number a head and token (Dao & Gu 2024, "Transformers are
// SSMs", sections 5 and 6):
//
//   state_t = exp(dt_t a) state_{t-1} + dt_t b_t x_t^T      y_t = c_t^T state_t + d x_t
//
// Letters: B batch, T tokens, G groups of heads that share b and c, R heads of a group, P head dim, N state dim, Q
// tokens of a chunk.
#pragma once

#include "tenon/autodiff/tree.h"

namespace tenon {

struct SsdInputs {
  Tensor x;       // [B,T,G,R,P]
  Tensor b, c;    // [B,T,G,N], of the dtype of x
  Tensor dt;      // f32 (f64 where that is computed in) [B,T,G,R], 0 or above; 0: the token leaves the state as it is
  Tensor starts;  // i1 [B,T]: whether the token forgets what was before it; empty: none does
  Tensor a;       // as dt, [G,R], below 0
  Tensor d;       // as dt, [G,R]
};

struct SsdOutputs {
  Tensor state;  // as dt, [B,G,N,R,P]: behind the last token
  Tensor y;      // [B,T,G,R,P], of the dtype of x
};

// From `state`, as SsdOutputs has it, by chunks of `chunk_size` tokens: within one, products of matrices as in masked
// attention; from one to the next, the state. T need not be a multiple. Decays and the state are f32 (f64), products
// are of the dtype of x and add up in f32. The backward pass keeps the inputs and a state a chunk, and computes the
// rest again: memory grows with T, not with its square.
SsdOutputs ssd_scan(const SsdInputs& inputs, const Tensor& state, int64_t chunk_size);

// The same for one token (T = 1), by the formulas above.
SsdOutputs ssd_step(const SsdInputs& inputs, const Tensor& state);

// i1 [B,T]: whether a token's segment isn't the one before's.
Tensor segment_starts(const Tensor& segment_ids);

}  // namespace tenon
