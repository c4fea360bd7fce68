// Vision against Hugging Face's transformers and torch (tests/fixtures/make_vision_fixture.py).
#include <gtest/gtest.h>

#include "fixture.h"
#include "tenon/autodiff/functional.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/vision/image_classifier.h"
#include "tenon/nn/vision/pool.h"
#include "tenon/nn/vision/resnet.h"
#include "tenon/nn/vision/vit.h"

namespace tenon {
namespace {

const Fixture& vision_file() {
  static const Fixture fixture("vision");
  return fixture;
}

bool is_moment(const std::string& name) { return name.ends_with(".mean") || name.ends_with(".variance"); }

// States stay in f32, as they are kept.
Values in_f64_but_moments(Values values) {
  for (auto& [name, value] : values) {
    if (!is_moment(name)) value = Literal::from(DType::f64, value.dims(), value.to_doubles());
  }
  return values;
}

// "loss", "logits", "grads.<path>" of a training step, and "updates.<path>", what it leaves of the moments.
Values run(const ImageClassifier& model, const Values& weights, const Values& batch) {
  return unstack(evaluate(weights, batch, [&](const Nest& s, const Nest& b) {
    Nest params, states;
    for (const ParamInfo& info : describe_state(model)) {
      (info.trainable ? params : states).emplace(info.path, s.at(info.path));
    }
    const auto both = value_and_grad(
        [&](Nest p) {
          p.insert(states.begin(), states.end());
          auto out = functional(model, &ImageClassifier::forward, p, Tensor(), true, b);
          return std::pair(out.result.sum / out.result.weight, out.collected.state_updates);
        },
        params);
    Nest out{{"loss", both.value},
             {"logits", functional(model, &ImageClassifier::logits, s, Tensor(), false, b).result}};
    for (const auto& [name, grad] : both.grads) out.emplace("grads." + name, grad);
    for (const auto& [name, next] : both.aux) out.emplace("updates." + name, next);
    return out;
  }));
}

void expect_case(ImageClassifier::Config config, const std::string& name, int64_t size) {
  config.height = config.width = size;
  config.channels = 3;
  config.num_classes = 5;
  config.pixels.scale = 1;
  config.compute_dtype = DType::f64;
  const ImageClassifier model(config);
  const Values own = initial_values(model, 1), weights = in_f64_but_moments(vision_file().all(name + "/weights/"));
  ASSERT_EQ(unstack(own).size(), weights.size());
  const Values got = run(model, stack_as(own, weights), vision_file().all(name + "/batch/"));
  const Values grads = vision_file().all(name + "/grads/"), after = vision_file().all(name + "/after/");
  EXPECT_EQ(got.size(), grads.size() + after.size() + 2);
  for (const char* what : {"loss", "logits"}) {
    EXPECT_EQ(difference(got.at(what), vision_file()[name + "/" + what], kTolerance), "") << name << " " << what;
  }
  for (const auto& [prefix, all] : {std::pair("grads.", grads), std::pair("updates.", after)}) {
    for (const auto& [path, want] : all) {
      ASSERT_TRUE(got.contains(prefix + path)) << path;
      // A bias of all keys alike has no gradient: softmax doesn't see it.
      if (path.ends_with("key.bias")) continue;
      EXPECT_EQ(difference(got.at(prefix + path), want, kTolerance), "") << name << " " << prefix << path;
    }
  }
}

ImageClassifier::Config vit() {
  ViT::Config c;
  c.patches.as<PatchEmbedding>().patch_size = 4;
  c.position_embedding.as<LearnedPositions>().max_positions = 5;
  Decoder::Config& layers = c.layers.as<Decoder>();
  layers.num_layers = 2;
  layers.norm.as<LayerNorm>().eps = 1e-12;
  DecoderLayer::Config& layer = layers.pattern[0].as<DecoderLayer>();
  layer.attention.as<MultiheadAttention>().num_heads = 2;
  layer.feed_forward.as<PlainFeedForward>().hidden_dim = 12;
  layer.residual.as<PreNormResidual>().norm.as<LayerNorm>().eps = 1e-12;
  ImageClassifier::Config out;
  out.feature_dim = 8;
  out.encoder = c;
  return out;
}

ImageClassifier::Config resnet(const Slot<ResidualBlock>& block, std::vector<int64_t> depths) {
  ResNet::Config c;
  c.stem_dim = 8;
  c.block = block;
  c.depths = std::move(depths);
  ImageClassifier::Config out;
  out.feature_dim = 16;
  out.encoder = c;
  return out;
}

TEST(VisionFixture, ViT) { expect_case(vit(), "vit", 8); }
TEST(VisionFixture, ResNetOfBasicBlocks) { expect_case(resnet(BasicBlock::Config(), {1, 2}), "resnet_basic", 16); }
TEST(VisionFixture, ResNetOfBottlenecks) {
  expect_case(resnet(BottleneckBlock::Config(), {2, 1}), "resnet_bottleneck", 16);
}

void expect_conv(const std::string& name, void set(Conv2D::Config&)) {
  const std::string prefix = "conv/" + name + "/";
  Conv2D::Config c;
  c.input_dim = 4;
  c.output_dim = 8;
  c.kernel_size = {3, 2};
  c.padding = ValidPadding{};
  c.bias = true;
  c.compute_dtype = DType::f64;
  set(c);
  const Conv2D conv(c);
  const Values state{{"weight", vision_file()[prefix + "weight"]}, {"bias", vision_file()[prefix + "bias"]}};
  const Values got = evaluate(state, {{"x", vision_file()[prefix + "x"]}}, [&](const Nest& s, const Nest& i) {
    return Nest{{"y", functional(conv, &Conv2D::forward, s, Tensor(), false, i.at("x")).result}};
  });
  EXPECT_EQ(difference(got.at("y"), vision_file()[prefix + "y"], kTolerance), "") << name;
}

TEST(VisionFixture, Convolutions) {
  expect_conv("plain", [](Conv2D::Config&) {});
  expect_conv("strided", [](Conv2D::Config& c) {
    c.strides = {2, 3};
    c.padding = ExplicitPadding{1, 1, 2, 2};
  });
  expect_conv("dilated", [](Conv2D::Config& c) {
    c.dilation = {2, 1};
    c.padding = SamePadding{};
  });
  expect_conv("grouped", [](Conv2D::Config& c) { c.groups = 2; });
  expect_conv("depthwise", [](Conv2D::Config& c) {
    c.groups = 4;
    c.padding = pad_all_sides(1);
  });
}

template <class P>
void expect_pool(const std::string& name, bool count_padding = false) {
  typename P::Config c;
  c.window = {3, 2};
  c.strides = {2, 2};
  c.padding = pad_all_sides(1);
  if constexpr (std::is_same_v<P, AvgPool>) c.count_padding = count_padding;
  const P pool(c);
  const Values got = evaluate({}, {{"x", vision_file()["pool/x"]}}, [&](const Nest& s, const Nest& i) {
    return Nest{{"y", functional(pool, &P::forward, s, Tensor(), false, i.at("x")).result}};
  });
  EXPECT_EQ(difference(got.at("y"), vision_file()["pool/" + name], kTolerance), "") << name;
}

TEST(VisionFixture, Pools) {
  expect_pool<MaxPool>("max");
  expect_pool<AvgPool>("avg");
  expect_pool<AvgPool>("avg_with_padding", true);
}

}  // namespace
}  // namespace tenon
