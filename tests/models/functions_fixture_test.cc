// Attention under masks, sinusoidal positions and activations against PyTorch and transformers
// (tests/fixtures/make_functions_fixture.py).
#include <gtest/gtest.h>

#include "fixture.h"
#include "tenon/autodiff/functional.h"
#include "tenon/config/config_type.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/attention/attention_core.h"
#include "tenon/nn/basic/activations.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/position/position_embedding.h"

namespace tenon {
namespace {

const Fixture& functions_file() {
  static const Fixture fixture("functions");
  return fixture;
}

// "context" and the gradients of sum(context * dy) by "query", "key" and "value".
template <class Core>
Values attend(typename Core::Config config, const Mask& mask) {
  config.head_dim = 6;
  config.num_heads = 4;
  config.mask = mask;
  const Core core(config);
  const Values qkv{{"query", functions_file()["masks/query"]},
                   {"key", functions_file()["masks/key"]},
                   {"value", functions_file()["masks/value"]}};
  const Values others{{"positions", functions_file()["masks/positions"]},
                      {"segments", functions_file()["masks/segments"]},
                      {"dy", functions_file()["masks/dy"]}};
  return evaluate(qkv, others, [&](const Nest& s, const Nest& in) {
    const Tensor &positions = in.at("positions"), &segments = in.at("segments");
    const MaskArgs args{positions, positions, segments, segments};
    const auto both = value_and_grad(
        [&](const Nest& x) {
          const Qkv heads{x.at("query"), x.at("key"), x.at("value")};
          const Tensor context = functional(core, &AttentionCore::forward, Nest(), Tensor(), true, heads, args).result;
          return std::pair(sum_all(context * in.at("dy")), context);
        },
        s);
    Nest out = both.grads;
    out.emplace("context", both.aux);
    return out;
  });
}

void expect_masked(const Mask& mask, const std::string& name) {
  FlashAttention::Config blocks;
  blocks.block_size = 5;  // the last block is cut short
  for (const Values& got : {attend<DotProductAttention>({}, mask), attend<FlashAttention>(blocks, mask)}) {
    for (const char* what : {"context", "query", "key", "value"}) {
      EXPECT_EQ(difference(got.at(what), functions_file()["masks/" + name + "/" + what], kExact), "")
          << name << " " << what;
    }
  }
}

TEST(FunctionsFixture, AttentionUnderMasks) {
  const BlockSparseMask sparse{.block = 2, .local_blocks = 1, .global_blocks = 1, .stride = 3};
  expect_masked(SegmentMask{}, "segment");
  expect_masked(CausalMask{}, "causal");
  expect_masked(SlidingWindowMask{3}, "sliding_window");
  expect_masked(PrefixMask{4}, "prefix");
  expect_masked(BlockSparseMask{.block = 3, .local_blocks = 2}, "local_blocks");
  expect_masked(sparse, "block_sparse");
  expect_masked(AndMask{{CausalMask{}, sparse}}, "causal_block_sparse");
}

TEST(FunctionsFixture, SinusoidalPositions) {
  for (const auto& [name, layout] :
       {std::pair("halves", SinusoidLayout::halves), std::pair("interleaved", SinusoidLayout::interleaved)}) {
    SinusoidalPositions::Config config;
    config.input_dim = 6;
    config.layout = layout;
    config.compute_dtype = DType::f64;
    const SinusoidalPositions positions(config);
    const Literal want = functions_file()[std::string("sinusoids/") + name];
    const Values got = evaluate({}, {}, [&](const Nest& s, const Nest&) {
      const Tensor rows = iota({DType::i32, {1, want.dims()[0]}}, 1);
      const Tensor y = functional(positions, &PositionEmbedding::forward, s, Tensor(), false, rows).result;
      return Nest{{"y", reshape(y, want.dims())}};
    });
    // The tables are made of sines in f32.
    EXPECT_EQ(difference(got.at("y"), want, 4e-6), "") << name;
  }
}

TEST(FunctionsFixture, Activations) {
  const std::vector<Activation> all{Silu{},        Gelu{},     GeluTanh{}, QuickGelu{}, Relu{},
                                    SquaredRelu{}, Logistic{}, Tanh{},     Identity{}};
  for (const Activation& activation : all) {
    const std::string prefix = "activations/" + std::string(activation.type()->name()) + "/";
    const Values got = evaluate({}, {{"x", functions_file()["activations/x"]}}, [&](const Nest&, const Nest& in) {
      const auto both = value_and_grad(
          [&](const Tensor& x) {
            const Tensor y = activation(x);
            return std::pair(sum_all(y), y);
          },
          in.at("x"));
      return Nest{{"y", both.aux}, {"slope", both.grads}};
    });
    for (const char* what : {"y", "slope"}) {
      EXPECT_EQ(difference(got.at(what), functions_file()[prefix + what], kExact), "") << prefix << what;
    }
  }
}

}  // namespace
}  // namespace tenon
