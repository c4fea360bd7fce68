#include "tenon/nn/register.h"

#include "tenon/config/registry.h"
#include "tenon/nn/causal_lm.h"
#include "tenon/nn/initializers.h"
#include "tenon/nn/modifiers.h"

namespace tenon {

void register_nn(Registry& registry) {
  register_autodiff(registry);
  registry.add<Constant, Normal, FanInNormal>();
  registry.add<PlainDot, Linear, Embedding, RMSNorm>();
  registry.add<CausalMask, SlidingWindowMask, SegmentMask, LinearQkv, RotaryQkv, DotProductAttention, FlashAttention,
               DenseKvCache, MultiheadAttention>();
  registry.add<Silu, ScaledDim, GatedFeedForward>();
  registry.add<PreNormResidual, DecoderLayer, Decoder>();
  registry.add<TiedHead, LinearHead, CrossEntropy, CausalLm>();
  registry.add<SetRemat, SetPartitions, UseAttention, UseDot>();
}

}  // namespace tenon
