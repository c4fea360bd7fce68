// Attention over split sequences against plain attention, value and gradient, and what documents see of each other.
#include "tenon/nn/attention/context_parallel.h"

#include <gmock/gmock.h>

#include "tenon/autodiff/functional.h"
#include "tenon/config/define.h"
#include "tenon/ir/cases/op_cases.h"
#include "tenon/ir/mesh_scope.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/attention/ring_attention.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/position/token_order.h"
#include "tenon/nn/testing/evaluate.h"

namespace tenon {
namespace {

constexpr int64_t kTokens = 16;

// Two rows of packed documents.
Values inputs(int64_t num_heads, int64_t num_kv_heads, DType dtype = DType::f64) {
  const TensorType q{dtype, {2, num_heads, kTokens, 4}}, k{dtype, {2, num_kv_heads, kTokens, 4}};
  Values out{{"q", sample(q, -2, 2)}, {"k", sample(k, -2, 2, 1)}, {"v", sample(k, -2, 2, 2)}};
  const TensorType tokens{DType::i32, {2, kTokens}};
  out.emplace("positions", Literal(tokens));
  out.emplace("segments", Literal(tokens));
  const std::vector<std::vector<int64_t>> rows = {{7, 9}, {5, 2, 6, 3}};
  for (int64_t row = 0; row < 2; ++row) {
    int64_t at = row * kTokens;
    for (size_t segment = 0; segment < rows[static_cast<size_t>(row)].size(); ++segment) {
      for (int64_t i = 0; i < rows[static_cast<size_t>(row)][segment]; ++i, ++at) {
        out.at("positions").set_int(at, i);
        out.at("segments").set_int(at, static_cast<int64_t>(segment) + 1);
      }
    }
  }
  return out;
}

// [B,N,T,H] in another order.
Tensor lay_heads(const Tensor& x, TokenOrder order) {
  return transpose(lay_tokens(transpose(x, {0, 2, 1, 3}), order), {0, 2, 1, 3});
}

// The context of tokens laid so, and the gradient of a weighted sum of it.
Values run(const AttentionCore& core, const Values& values, TokenOrder order = TokenOrder::as_read) {
  const TokenOrderScope scope(order);
  return evaluate({}, values, [&](const Nest&, const Nest& in) {
    const auto heads = [&](const Tensor& t) { return lay_heads(t, order); };
    const Tensor positions = lay_tokens(in.at("positions"), order), segments = lay_tokens(in.at("segments"), order);
    const MaskArgs args{positions, positions, segments, segments};
    const auto context = [&](const Nest& x) {
      return functional(core, &AttentionCore::forward, {}, Tensor(), true,
                        Qkv{heads(x.at("q")), heads(x.at("k")), heads(x.at("v"))}, args)
          .result;
    };
    const Nest x{{"q", in.at("q")}, {"k", in.at("k")}, {"v", in.at("v")}};
    const Tensor weights = sin(convert(iota({DType::i32, in.at("q").dims()}, 3), in.at("q").dtype()) +
                               convert(iota({DType::i32, in.at("q").dims()}, 2), in.at("q").dtype()));
    const Tensor laid = lay_heads(weights, order);
    Nest out = grad([&](const Nest& p) { return sum_all(context(p) * laid); }, x);
    out.emplace("context", context(x));
    return out;
  });
}

template <class C>
C core_of(const Mask& mask) {
  C c;
  c.head_dim = 4;
  c.num_heads = 4;
  c.mask = mask;
  return c;
}

ContextParallelAttention::Config parallel(const Mask& mask, KeyExchange exchange) {
  auto c = core_of<ContextParallelAttention::Config>(mask);
  c.exchange = exchange;
  c.block_size = 3;
  return c;
}

struct Way {
  KeyExchange exchange;
  TokenOrder order;
};
const std::vector<Way>& ways() {
  static const std::vector<Way> all = {{KeyExchange::all_gather, TokenOrder::as_read},
                                       {KeyExchange::all_gather, TokenOrder::zigzag},
                                       {KeyExchange::ring, TokenOrder::as_read},
                                       {KeyExchange::ring, TokenOrder::zigzag}};
  return all;
}

const std::vector<Mask>& masks() {
  static const std::vector<Mask> all = {CausalMask{}, SegmentMask{}, SlidingWindowMask{3}, PrefixMask{3},
                                        AndMask{{CausalMask{}, BlockSparseMask{.block = 2, .stride = 2}}}};
  return all;
}

void expect_plain(const Mesh& mesh, const Mask& mask, int64_t num_kv_heads) {
  const Values values = inputs(4, num_kv_heads);
  for (const Way& way : ways()) {
    SCOPED_TRACE(to_string(mesh) + (way.exchange == KeyExchange::ring ? " ring" : " all_gather") +
                 (way.order == TokenOrder::zigzag ? " zigzag" : " as_read"));
    const MeshScope scope(mesh);
    const Values got = run(ContextParallelAttention(parallel(mask, way.exchange)), values, way.order);
    const Values want = run(DotProductAttention(core_of<DotProductAttention::Config>(mask)), values);
    const Values context = evaluate({}, {{"x", want.at("context")}}, [&](const Nest&, const Nest& in) {
      return Nest{{"x", lay_heads(in.at("x"), way.order)}};
    });
    EXPECT_EQ(difference(got.at("context"), context.at("x"), 1e-12), "");
    for (const char* name : {"q", "k", "v"}) EXPECT_EQ(difference(got.at(name), want.at(name), 1e-12), "") << name;
  }
}

TEST(ContextParallelAttention, IsDotProductAttention) {
  for (const Mask& mask : masks()) {
    SCOPED_TRACE(mask.type()->name());
    expect_plain(Mesh{{"seq", 4}}, mask, 2);
  }
  expect_plain(Mesh{{"data", 2}, {"seq", 2}, {"model", 2}}, CausalMask{}, 2);
  expect_plain(Mesh{{"fsdp", 2}, {"seq", 4}}, SlidingWindowMask{6}, 1);
  expect_plain(Mesh{{"seq", 8}}, CausalMask{}, 4);
}

TEST(ContextParallelAttention, WindowsPassKeysNoFurtherThanTheyReach) {
  const SequenceSplit ordered{"seq", 8, false}, zigzag{"seq", 8, true};
  const auto steps = [](int64_t window, const SequenceSplit& split) {
    return ring_steps({.causal = true, .window = window, .segments = true}, split, 4);
  };
  EXPECT_EQ(steps(0, ordered), 7);
  EXPECT_EQ(steps(1, ordered), 0);  // only itself
  EXPECT_EQ(steps(2, ordered), 1);  // the first token of a piece sees the last of the one before
  EXPECT_EQ(steps(5, ordered), 1);
  EXPECT_EQ(steps(6, ordered), 2);
  EXPECT_EQ(steps(1000, ordered), 7);
  EXPECT_EQ(steps(2, zigzag), 7);
  EXPECT_EQ(ring_steps({.window = 2, .segments = true}, ordered, 4), 7);  // sees what comes later
}

TEST(ContextParallelAttention, TokensInZigzagOrder) {
  const auto laid = [](const Mesh& mesh) {
    const MeshScope scope(mesh);
    return evaluate({}, {{"x", Literal(TensorType{DType::i32, {1, 8}})}},
                    [](const Nest&, const Nest& in) {
                      return Nest{{"x", lay_tokens(iota(in.at("x").type(), 1), TokenOrder::zigzag)}};
                    })
        .at("x");
  };
  const TensorType type{DType::i32, {1, 8}};
  EXPECT_EQ(laid(Mesh{{"seq", 2}}), Literal::from(DType::i32, {1, 8}, std::vector<int64_t>{0, 1, 6, 7, 2, 3, 4, 5}));
  EXPECT_EQ(laid(Mesh{{"seq", 4}}), Literal::from(DType::i32, {1, 8}, std::vector<int64_t>{0, 7, 1, 6, 2, 5, 3, 4}));
  EXPECT_EQ(laid(Mesh{{"model", 4}}), Literal::from(DType::i32, {1, 8}, std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  const MeshScope two(Mesh{{"seq", 2}});
  const TokenOrderScope order(TokenOrder::zigzag);
  const auto apart =
      error_of([] { make_graph({}, [](const std::vector<Tensor>& x) { return require_neighbours(), x; }); });
  ASSERT_TRUE(apart);
  EXPECT_EQ(apart->code(), ErrorCode::unsupported);
  const auto error = error_of([&] { laid(Mesh{{"seq", 3}}); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::mesh_mismatch);
  EXPECT_THAT(error->what(), ::testing::HasSubstr("a multiple of 6"));
}

// Changing the first document of a row changes nothing of the others, not by a bit.
TEST(AttentionMasks, DocumentsDontSeeEachOther) {
  const Values before = inputs(4, 2, DType::f32);
  Values after = before;
  for (const char* name : {"q", "k", "v"}) {
    Literal& x = after.at(name);
    for (int64_t i = 0; i < x.size(); ++i) {
      const int64_t token = i / 4 % kTokens, row = i / (x.size() / 2);
      const int64_t first = row == 0 ? 7 : 5;
      if (token < first) x.set(i, x.as_double(i) * -3 + 100);
    }
  }
  const auto expect_same = [&](const AttentionCore& core, TokenOrder order) {
    const auto others = [&](const Values& values) {
      return evaluate({}, run(core, values, order), [&](const Nest&, const Nest& out) {
        Nest kept;
        const Tensor segments = lay_tokens(constant(before.at("segments")), order);
        const Tensor later = greater(segments, full_like(segments, 1));
        const Tensor& context = out.at("context");
        kept.emplace("context", select(broadcast_in_dim(later, context.dims(), {0, 2}), context, zeros_like(context)));
        return kept;
      });
    };
    EXPECT_EQ(others(after), others(before));
    EXPECT_NE(run(core, after, order), run(core, before, order));
  };
  for (const Mask& mask : masks()) {
    SCOPED_TRACE(mask.type()->name());
    expect_same(DotProductAttention(core_of<DotProductAttention::Config>(mask)), TokenOrder::as_read);
    expect_same(FlashAttention(core_of<FlashAttention::Config>(mask)), TokenOrder::as_read);
    for (const Way& way : ways()) {
      const MeshScope scope(Mesh{{"seq", 4}, {"model", 2}});
      expect_same(ContextParallelAttention(parallel(mask, way.exchange)), way.order);
    }
  }
}

TEST(ContextParallelAttention, SaysWhatDoesntDivide) {
  const auto error = [&](const Mesh& mesh, int64_t num_kv_heads) {
    const MeshScope scope(mesh);
    return error_of(
        [&] { run(ContextParallelAttention(parallel(CausalMask{}, KeyExchange::ring)), inputs(4, num_kv_heads)); });
  };
  const auto tokens = error(Mesh{{"seq", 3}}, 2), heads = error(Mesh{{"seq", 2}, {"model", 2}}, 1),
             batch = error(Mesh{{"seq", 2}, {"data", 4}}, 2);
  for (const auto& e : {tokens, heads, batch}) {
    ASSERT_TRUE(e);
    EXPECT_EQ(e->code(), ErrorCode::mesh_mismatch);
  }
  EXPECT_THAT(tokens->what(), ::testing::HasSubstr("16 over 3"));
  EXPECT_THAT(heads->what(), ::testing::HasSubstr("heads of keys don't divide over the mesh seq=2,model=2"));
  EXPECT_THAT(heads->hint(), ::testing::HasSubstr("leave heads whole"));
  EXPECT_THAT(batch->what(), ::testing::HasSubstr("examples don't divide"));
  auto biased = parallel(CausalMask{}, KeyExchange::ring);
  biased.bias = AlibiBias::Config();
  const auto refused = error_of([&] { build(biased); });
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code(), ErrorCode::unsupported);
  EXPECT_THAT(refused->what(), ::testing::HasSubstr("ContextParallelAttention adds no bias"));
}

}  // namespace
}  // namespace tenon
