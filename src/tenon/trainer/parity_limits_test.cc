#include "tenon/trainer/parity_limits.h"

#include <gmock/gmock.h>

#include "tenon/nn/dot/quantized_dot.h"
#include "tenon/nn/experts/mixture_of_experts.h"
#include "tenon/nn/parallel_modifiers.h"
#include "tenon/nn/testing/tiny_lm.h"

namespace tenon {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::StartsWith;

CausalLm::Config& model_of(Trainer::Config& c) { return c.model.as<CausalLm>(); }
DecoderLayer::Config& layer_of(Trainer::Config& c) {
  return model_of(c).decoder.as<Decoder>().pattern[0].as<DecoderLayer>();
}
Trainer::Config plain() {
  Trainer::Config c;
  c.model = tiny_lm(StackForm::scan);
  return c;
}
MixtureOfExperts::Config& mix(Trainer::Config& c) {
  layer_of(c).feed_forward = MixtureOfExperts::Config();
  return layer_of(c).feed_forward.as<MixtureOfExperts>();
}

TEST(ParityLimits, NoneOfF32WithoutDraws) { EXPECT_THAT(parity_limits(plain()), IsEmpty()); }

TEST(ParityLimits, DtypesBelowF32) {
  Trainer::Config c = plain();
  c.model->compute_dtype = DType::bf16;
  EXPECT_THAT(parity_limits(c), ElementsAre(AllOf(StartsWith("dtypes below f32"), EndsWith("(model.compute_dtype)"))));
  c.model->compute_dtype = DType::f32;
  EXPECT_THAT(parity_limits(c), IsEmpty());
}

TEST(ParityLimits, DrawsWithTheirPaths) {
  Trainer::Config c = plain();
  layer_of(c).residual = DropoutResidual::Config();
  attention_of(model_of(c)).core->dropout = 0.1;
  EXPECT_THAT(
      parity_limits(c),
      ElementsAre(
          AllOf(StartsWith("draws: each microbatch has its own"),
                EndsWith("(model.decoder.pattern.0.attention.core.dropout, model.decoder.pattern.0.residual.rate)"))));
}

TEST(ParityLimits, ARoutersBias) {
  Trainer::Config c = plain();
  mix(c).router.as<TopKRouter>().bias_update_rate = 1e-3;
  EXPECT_THAT(parity_limits(c), ElementsAre(AllOf(StartsWith("a router's bias"), EndsWith("bias_update_rate)"))));
}

TEST(ParityLimits, CapacityInZigzagOrder) {
  Trainer::Config c = plain();
  mix(c).dispatch = CapacityDispatch::Config();
  EXPECT_THAT(parity_limits(c), IsEmpty());
  model_of(c).token_order = TokenOrder::zigzag;
  EXPECT_THAT(parity_limits(c), ElementsAre(AllOf(StartsWith("capacity of experts"), EndsWith("dispatch)"))));
}

TEST(ParityLimits, EightBitProducts) {
  Trainer::Config c = plain();
  layer_of(c).feed_forward.as<GatedFeedForward>().down->dot = Fp8Dot::Config();
  EXPECT_THAT(parity_limits(c), ElementsAre(AllOf(StartsWith("8-bit products"), EndsWith("down.dot)"))));
}

}  // namespace
}  // namespace tenon
