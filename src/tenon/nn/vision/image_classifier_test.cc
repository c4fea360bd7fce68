// Values against transformers are in tests/models/vision_fixture_test.cc.
#include "tenon/nn/vision/image_classifier.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tenon/config/validate.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/parallel_modifiers.h"
#include "tenon/nn/testing/evaluate.h"
#include "tenon/nn/vision/batch_norm.h"
#include "tenon/nn/vision/resnet.h"
#include "tenon/nn/vision/vit.h"

namespace tenon {
namespace {

using testing::HasSubstr;

ImageClassifier::Config classifier(const Slot<ImageEncoder>& encoder, int64_t feature_dim) {
  ImageClassifier::Config c;
  c.height = c.width = 8;
  c.channels = 1;
  c.num_classes = 3;
  c.feature_dim = feature_dim;
  c.encoder = encoder;
  return c;
}

ViT::Config vit(ViTPooling pooling) {
  ViT::Config c;
  c.patches.as<PatchEmbedding>().patch_size = 2;
  c.position_embedding.as<LearnedPositions>().max_positions = 17;
  Decoder::Config& layers = c.layers.as<Decoder>();
  layers.num_layers = 1;
  layers.pattern[0].as<DecoderLayer>().attention.as<MultiheadAttention>().num_heads = 2;
  c.pooling = pooling;
  return c;
}

ResNet::Config resnet() {
  ResNet::Config c;
  c.stem.as<Conv2D>().strides = {1, 1};
  c.stem_pool.reset();
  c.stem_dim = 4;
  c.block = BasicBlock::Config();
  c.depths = {1, 1};
  return c;
}

Values batch(DType dtype, int64_t size = 8) {
  std::vector<double> pixels, labels{2, 0, -1};
  for (int64_t i = 0; i < 3 * size * size; ++i) pixels.push_back(static_cast<double>((7 * i) % 256));
  return {{"images", Literal::from(dtype, {3, size, size, 1}, pixels)},
          {"labels", Literal::from(DType::i32, {3}, labels)}};
}

Values run(const ImageClassifier& model, const Values& inputs) {
  return evaluate(initial_values(model, 5), inputs, [&](const Nest& s, const Nest& b) {
    const auto out = functional(model, &ImageClassifier::forward, s, Tensor(), false, b);
    const Outputs& summaries = out.collected.summaries;
    return Nest{{"sum", out.result.sum},
                {"weight", out.result.weight},
                {"accuracy", summaries.at("loss.accuracy").value},
                {"logits", functional(model, &ImageClassifier::logits, s, Tensor(), false, b).result}};
  });
}

TEST(ImageClassifier, CountsLabelledExamples) {
  for (const Slot<ImageEncoder>& encoder : {Slot<ImageEncoder>(vit(ViTPooling::class_token)),
                                            Slot<ImageEncoder>(vit(ViTPooling::mean)), Slot<ImageEncoder>(resnet())}) {
    const Values got = run(ImageClassifier(classifier(encoder, 8)), batch(DType::u8));
    EXPECT_EQ(got.at("logits").dims(), (Dims{3, 3}));
    EXPECT_EQ(got.at("weight").as_double(0), 2);
    double want = 0, right = 0;
    for (int64_t row = 0; row < 2; ++row) {
      const int64_t label = row == 0 ? 2 : 0;
      const auto logit = [&](int64_t c) { return got.at("logits").as_double(3 * row + c); };
      want += std::log(std::exp(logit(0)) + std::exp(logit(1)) + std::exp(logit(2))) - logit(label);
      right += logit(label) >= std::max({logit(0), logit(1), logit(2)}) ? 0.5 : 0;
    }
    EXPECT_NEAR(got.at("sum").as_double(0), want, 1e-5);
    EXPECT_EQ(got.at("accuracy").as_double(0), right);
  }
}

TEST(ImageClassifier, ScalesPixels) {
  ImageClassifier::Config scaled = classifier(resnet(), 8), plain = scaled;
  scaled.pixels = {.scale = 0.5, .mean = {3}, .deviation = {4}};
  plain.pixels.scale = 1;
  Values by_hand = batch(DType::f32);
  std::vector<double> pixels = by_hand.at("images").to_doubles();
  for (double& p : pixels) p = (p * 0.5 - 3) / 4;
  by_hand["images"] = Literal::from(DType::f32, {3, 8, 8, 1}, pixels);
  const Values got = run(ImageClassifier(scaled), batch(DType::u8)), want = run(ImageClassifier(plain), by_hand);
  EXPECT_EQ(difference(got.at("logits"), want.at("logits"), 1e-6), "");
}

TEST(ImageClassifier, RefusesWhatDoesntFit) {
  const ImageClassifier model(classifier(vit(ViTPooling::class_token), 8));
  EXPECT_THAT(error_text([&] { run(model, batch(DType::u8, 4)); }), HasSubstr("[3,8,8,1]"));
  EXPECT_THAT(error_text([&] { run(model, batch(DType::i32)); }), HasSubstr("u8 or floats"));
  EXPECT_THAT(error_text([&] { run(model, {{"images", batch(DType::u8).at("images")}}); }), HasSubstr("labels"));

  const auto refusal = [](const ImageClassifier::Config& c) { return error_text([&] { validate(c); }); };
  ImageClassifier::Config c = classifier(resnet(), 8);
  c.pixels.mean = {1, 2};
  EXPECT_THAT(refusal(c), HasSubstr("pixels.mean: must have one number a channel"));
  ResNet::Config deep = resnet();
  deep.depths = {1, 0};
  EXPECT_THAT(refusal(classifier(deep, 8)), HasSubstr("encoder.depths"));

  ViT::Config few = vit(ViTPooling::class_token);
  few.position_embedding.as<LearnedPositions>().max_positions = 16;
  EXPECT_THAT(error_text([&] { run(ImageClassifier(classifier(few, 8)), batch(DType::u8)); }),
              HasSubstr("longer than the model's positions"));
  ViT::Config uneven = vit(ViTPooling::mean);
  uneven.patches.as<PatchEmbedding>().patch_size = 3;
  EXPECT_THAT(error_text([&] { run(ImageClassifier(classifier(uneven, 8)), batch(DType::u8)); }),
              HasSubstr("patches don't cover the image"));
  BottleneckBlock::Config odd;
  ResNet::Config bottlenecks = resnet();
  bottlenecks.block = odd;
  bottlenecks.depths = {1};
  EXPECT_THAT(error_text([&] { ImageClassifier{classifier(bottlenecks, 6)}; }), HasSubstr("must be a multiple of 4"));
}

TEST(ResNet, HasNoTokensToSplit) {
  ImageClassifier::Config c = classifier(resnet(), 8);
  EXPECT_THAT(error_text([&] { SequenceParallel{}(c); }), HasSubstr("no activation_partition"));
}

TEST(ResNet, BlockWithoutLastScaleStartsAsItsShortcut) {
  BasicBlock::Config c;
  c.input_dim = c.output_dim = 3;
  c.stride = 1;
  c.last_norm.as<BatchNorm>().initial_scale = 0;
  const BasicBlock block(c);
  const Literal x = Literal::from(DType::f32, {1, 1, 2, 3}, std::vector<double>{1, -2, 3, -4, 5, 6});
  const Values got = evaluate(initial_values(block, 1), {{"x", x}}, [&](const Nest& s, const Nest& i) {
    return Nest{{"y", functional(block, &BasicBlock::forward, s, Tensor(), false, i.at("x")).result}};
  });
  EXPECT_EQ(got.at("y").to_doubles(), (std::vector<double>{1, 0, 3, 0, 5, 6}));
}

}  // namespace
}  // namespace tenon
