// Modifiers that spread a model over the axes of a mesh.
#pragma once

#include "tenon/config/modifier.h"
#include "tenon/nn/attention/context_parallel.h"
#include "tenon/nn/position/token_order.h"
#include "tenon/nn/transformer/pipeline.h"

namespace tenon {

// Splits attention over the mesh axis `seq`: every core becomes a ContextParallelAttention (masks stay), and causal
// language models lay their tokens so.
struct ContextParallel {
  KeyExchange exchange = KeyExchange::ring;
  TokenOrder order = TokenOrder::zigzag;
  TENON_FN(exchange, order)
  void operator()(AnyConfig& tree) const;
};

// Splits the residual stream along T over `model` too: what the products of a layer take is gathered, and what they
// give scattered, so that norms and sums are computed once (Korthikanti et al. 2022, section 4.2.2). It sets every
// partition spec that is called activation_partition and has an entry for T.
struct SequenceParallel {
  TENON_FN()
  void operator()(AnyConfig& tree) const;
};

// Splits the layers of every decoder over the mesh axis `pipeline`. The fields are PipelineConfig's.
struct PipelineParallel {
  int64_t microbatches = 4, rounds = 1;
  PipelineSchedule schedule = PipelineSchedule::gpipe;
  void check(Checker& c) const;
  TENON_FN(microbatches, rounds, schedule)
  void operator()(AnyConfig& tree) const;
};

}  // namespace tenon
