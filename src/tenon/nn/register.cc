#include "tenon/nn/register.h"

#include "tenon/config/registry.h"
#include "tenon/nn/attention/context_parallel.h"
#include "tenon/nn/dot/lora.h"
#include "tenon/nn/dot/quantized_dot.h"
#include "tenon/nn/experts/mixture_of_experts.h"
#include "tenon/nn/initializers.h"
#include "tenon/nn/language/contrastive.h"
#include "tenon/nn/language/distilled_lm.h"
#include "tenon/nn/language/encoder_decoder.h"
#include "tenon/nn/language/masked_lm.h"
#include "tenon/nn/modifiers.h"
#include "tenon/nn/parallel_modifiers.h"
#include "tenon/nn/state_space/initializers.h"
#include "tenon/nn/state_space/mamba2.h"
#include "tenon/nn/transformer/cross_decoder_layer.h"
#include "tenon/nn/transformer/mixer_layer.h"
#include "tenon/nn/transformer/parallel_layer.h"
#include "tenon/nn/vision/batch_norm.h"
#include "tenon/nn/vision/image_classifier.h"
#include "tenon/nn/vision/resnet.h"
#include "tenon/nn/vision/vit.h"

namespace tenon {

void register_nn(Registry& registry) {
  register_autodiff(registry);
  registry.add<Constant, Normal, FanInNormal, FanInUniform>();
  registry.add<PlainDot, Int8Dot, Fp8Dot, LoRA, Linear>();
  registry.add<Embedding, LearnedPositions, SinusoidalPositions, RMSNorm, LayerNorm, NoNorm>();
  registry.add<CausalMask, SlidingWindowMask, SegmentMask, PrefixMask, BlockSparseMask, AndMask, OrMask>();
  registry.add<LinearRotaryScaling, Llama3RotaryScaling, YarnRotaryScaling, LinearQkv, NormedQkv, RotaryQkv>();
  registry.add<AlibiBias, RelativeBias, SharedBias, DotProductAttention, FlashAttention, ContextParallelAttention,
               DenseKvCache, SlidingKvCache, MultiheadAttention, CrossAttention>();
  registry.add<Silu, Gelu, GeluTanh, QuickGelu, Relu, SquaredRelu, Logistic, Tanh, Identity>();
  registry.add<ScaledDim, GatedFeedForward, PlainFeedForward>();
  registry.add<MixtureOfExperts, TopKRouter, CapacityDispatch, DroplessDispatch, GatedExperts, PerExpert>();
  registry.add<PreNormResidual, PostNormResidual, HybridNormResidual, DropoutResidual, StochasticDepthResidual>();
  registry.add<LogOfUniform, InverseSoftplusOfLogUniform, CausalConv, GatedNorm, Mamba2>();
  registry.add<DecoderLayer, ParallelLayer, CrossDecoderLayer, MixerLayer, Decoder>();
  registry.add<TiedHead, LinearHead, CappedHead, TransformedHead, CrossEntropy, CausalLm, EncoderDecoder>();
  registry.add<MaskedLm, DistilledLm, TextEncoder, ContrastivePairs>();
  registry.add<ValidPadding, SamePadding, ExplicitPadding, Conv2D, MaxPool, AvgPool, GlobalAvgPool, GlobalMaxPool,
               BatchNorm>();
  registry.add<BasicBlock, BottleneckBlock, ResNet, PatchEmbedding, ViT, ImageClassifier>();
  registry.add<SetRemat, SetPartitions, UseAttention, UseDot, ContextParallel, PipelineParallel, SequenceParallel>();
}

}  // namespace tenon
