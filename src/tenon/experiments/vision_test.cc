#include <gmock/gmock.h>

#include "tenon/config/build_part.h"
#include "tenon/experiments/digits.h"
#include "tenon/experiments/imagenet.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/model.h"
#include "tenon/trainer/trace_step.h"

namespace tenon {
namespace {

int64_t num_parameters(const Trainer::Config& config) {
  const std::unique_ptr<Model> model = build_part("model", config.model);
  int64_t count = 0;
  for (const ParamInfo& info : describe_state(*model)) {
    if (info.trainable) count += num_elements(info.logical_shape());
  }
  return count;
}

// As torchvision and timm count them.
TEST(Vision, ParametersAreThoseOfThePublishedModels) {
  EXPECT_EQ(num_parameters(ImageNetResNet{}()), 25'557'032);
  EXPECT_EQ(num_parameters(ImageNetResNet{.depths = {3, 4, 23, 3}}()), 44'549'160);
  EXPECT_EQ(num_parameters(ImageNetResNet{.depths = {2, 2, 2, 2}, .bottleneck = false}()), 11'689'512);
  EXPECT_EQ(num_parameters(ImageNetResNet{.bottleneck = false}()), 21'797'672);
  EXPECT_EQ(num_parameters(ImageNetViT{}()), 86'567'656);
  EXPECT_EQ(num_parameters(ImageNetViT{.patch_size = 32}()), 88'224'232);
}

TEST(Vision, StepsFollowFromEpochs) {
  const Trainer::Config c = ImageNetResNet{}();
  EXPECT_EQ(*c.max_steps, 450411);  // 90 x 1281167 / 256, rounded up
  EXPECT_EQ(c.eval_every_n_steps, 5005);
}

// 4.1e9 multiplications and as many additions of the forward pass (He et al. 2015, table 1: 3.8e9 with the stride in
// the 1 x 1 convolutions).
TEST(Vision, ResNet50ComputesWhatItShould) {
  const FlopCount forward = count_forward_flops(ImageNetResNet{.batch_size = 8}(), 8);
  EXPECT_NEAR(forward.total / 8, 2 * 4.1e9, 0.3e9);
}

TEST(Vision, DigitsRefuseMoreStagesThanTheImageHas) {
  const auto e = error_of([] {
    Checker c;
    Digits{.depths = {1, 1, 1, 1}}.check(c);
    c.raise();
  });
  ASSERT_TRUE(e);
  EXPECT_THAT(e->what(), testing::HasSubstr("1 to 3 stages"));
}

}  // namespace
}  // namespace tenon
