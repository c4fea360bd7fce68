// Packed documents, compiled for many devices: what one holds changes nothing of another, not by a bit.
#include <gtest/gtest.h>

#include <random>

#include "tenon/config/define.h"
#include "tenon/ir/mesh_scope.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/attention/context_parallel.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/position/token_order.h"
#include "tenon/pjrt/plugin.h"
#include "tenon/runtime/jit.h"
#include "tenon/trainer/test_run.h"

namespace tenon {
namespace {

constexpr int64_t B = 4, N = 4, K = 2, T = 64, H = 8;
const PartitionSpec kHeads{{"data", "expert", "fsdp"}, "model", "seq"}, kTokens{{"data", "expert", "fsdp"}, "seq"};

// Where the second document of each row begins.
struct Packing {
  const char* name;
  std::vector<int64_t> cuts;
};
const std::vector<Packing>& packings() {
  static const std::vector<Packing> all = {{"halves", {32, 32, 32, 32}}, {"uneven", {1, 17, 40, 63}}};
  return all;
}

struct Inputs {
  std::vector<Literal> arrays;  // q, k, v, positions, segments
  // Changes what is in segment `segment` of every row.
  Inputs changed(int64_t segment) const {
    Inputs out = *this;
    for (size_t i = 0; i < 3; ++i) {
      Literal& x = out.arrays[i];
      for (int64_t e = 0; e < x.size(); ++e) {
        const int64_t token = e / H % T, row = e / (x.size() / B);
        if (arrays[4].as_int(row * T + token) == segment) x.set(e, 50 - 3 * x.as_double(e));
      }
    }
    return out;
  }
};

Inputs inputs(const Packing& packing) {
  std::mt19937 rng(1);
  std::normal_distribution<double> normal;
  Inputs out;
  for (const int64_t heads : {N, K, K}) {
    Literal& x = out.arrays.emplace_back(TensorType{DType::f32, {B, heads, T, H}});
    for (int64_t e = 0; e < x.size(); ++e) x.set(e, normal(rng));
  }
  Literal positions(TensorType{DType::i32, {B, T}}), segments(positions.type());
  for (int64_t row = 0; row < B; ++row) {
    const int64_t cut = packing.cuts[static_cast<size_t>(row)];
    for (int64_t t = 0; t < T; ++t) {
      positions.set_int(row * T + t, t < cut ? t : t - cut);
      segments.set_int(row * T + t, t < cut ? 1 : 2);
    }
  }
  out.arrays.push_back(std::move(positions));
  out.arrays.push_back(std::move(segments));
  return out;
}

// How attention runs on a mesh: who may see whom is told by `core`'s mask.
struct Layout {
  Mesh mesh;
  TokenOrder order = TokenOrder::as_read;
  KernelList kernels = {};
};

// Contexts [B,N,T,H] and segments [B,T], laid as the layout says.
Jitted compiled(const AttentionCore& core, const Layout& layout) {
  const auto& [mesh, token_order, kernels] = layout;
  const MeshScope scope(mesh);
  const TokenOrderScope tokens(token_order);
  std::vector<TensorType> types;
  for (const Literal& x : inputs(packings()[0]).arrays) types.push_back(x.type());
  const auto body = [&, order = token_order](const std::vector<Tensor>& in) {
    const auto heads = [&](const Tensor& x) {
      return shard(transpose(lay_tokens(transpose(x, {0, 2, 1, 3}), order), {0, 2, 1, 3}), kHeads);
    };
    const Tensor positions = shard(lay_tokens(in[3], order), kTokens),
                 segments = shard(lay_tokens(in[4], order), kTokens);
    const Tensor context =
        functional(core, &AttentionCore::forward, {}, Tensor(), false, Qkv{heads(in[0]), heads(in[1]), heads(in[2])},
                   MaskArgs{positions, positions, segments, segments})
            .result;
    return std::vector<Tensor>{context, segments};
  };
  ProgramSpec spec;
  spec.mesh = mesh;
  spec.kernels = kernels;
  Graph graph = make_graph(types, body);
  return {cpu(8), compile(cpu(8), mesh, make_program(graph, spec))};
}

// Elements of a context that belong to segment `segment`.
std::vector<double> of_segment(const std::vector<Literal>& results, int64_t segment) {
  std::vector<double> out;
  const Literal &context = results[0], &segments = results[1];
  for (int64_t e = 0; e < context.size(); ++e) {
    const int64_t token = e / H % T, row = e / (N * T * H);
    if (segments.as_int(row * T + token) == segment) out.push_back(context.as_double(e));
  }
  return out;
}

void expect_isolated(const Jitted& program) {
  for (const Packing& packing : packings()) {
    SCOPED_TRACE(packing.name);
    const Inputs plain = inputs(packing);
    const std::vector<Literal> before = program(plain.arrays);
    for (const int64_t changed : {1, 2}) {
      const std::vector<Literal> after = program(plain.changed(changed).arrays);
      const int64_t other = 3 - changed;
      ASSERT_FALSE(of_segment(before, other).empty());
      EXPECT_EQ(of_segment(after, other), of_segment(before, other)) << "document " << changed << " was changed";
      EXPECT_NE(of_segment(after, changed), of_segment(before, changed));
    }
  }
}

template <class Core>
Core core_with(const Mask& mask) {
  typename Core::Config c;
  c.head_dim = H;
  c.num_heads = N;
  c.mask = mask;
  return Core(c);
}

// In ordinary ops.
template <class Core>
void expect_isolated_everywhere(const Mask& mask, const std::vector<Mesh>& meshes) {
  SCOPED_TRACE(mask.type()->name());
  for (const Mesh& mesh : meshes) {
    SCOPED_TRACE(to_string(mesh));
    expect_isolated(compiled(core_with<Core>(mask), {mesh}));
  }
}

// By the CPU's own kernel.
void expect_isolated_by_kernel(const Mask& mask, const std::vector<Mesh>& meshes) {
  SCOPED_TRACE(mask.type()->name());
  for (const Mesh& mesh : meshes) {
    SCOPED_TRACE(to_string(mesh));
    const Jitted program = compiled(core_with<FlashAttention>(mask), {mesh, TokenOrder::as_read, cpu(8)->kernels()});
    const std::vector<KernelChoice>& kernels = program.executable().program().kernels;
    ASSERT_EQ(kernels.size(), 1U);
    EXPECT_EQ(kernels[0].implementation, "cpu_attention") << to_string(kernels[0]);
    expect_isolated(program);
  }
}

void expect_split_isolated(const Mask& mask, KeyExchange exchange, TokenOrder order, const std::vector<Mesh>& meshes) {
  SCOPED_TRACE(mask.type()->name());
  SCOPED_TRACE(exchange == KeyExchange::ring ? "ring" : "all_gather");
  SCOPED_TRACE(order == TokenOrder::zigzag ? "zigzag" : "as_read");
  ContextParallelAttention::Config c;
  c.head_dim = H;
  c.num_heads = N;
  c.mask = mask;
  c.exchange = exchange;
  for (const Mesh& mesh : meshes) {
    SCOPED_TRACE(to_string(mesh));
    for (const KernelList& kernels : {KernelList(), cpu(8)->kernels()}) {
      expect_isolated(compiled(ContextParallelAttention(c), {mesh, order, kernels}));
    }
  }
}

class DocumentIsolation : public testing::Test {
 protected:
  void SetUp() override {
    if (!pjrt::find_plugin("cpu")) GTEST_SKIP() << "no CPU plugin is installed";
  }
};

TEST_F(DocumentIsolation, OfARing) {
  expect_split_isolated(CausalMask{}, KeyExchange::ring, TokenOrder::zigzag, {Mesh{{"seq", 2}, {"model", 2}}});
}

TEST_F(DocumentIsolation, OfTheCpusKernel) {
  expect_isolated_by_kernel(CausalMask{}, {Mesh(), Mesh{{"fsdp", 2}, {"model", 2}}});
}

TEST_F(DocumentIsolation, SlowEveryCoreMaskAndMesh) {
  const std::vector<Mesh> meshes = {Mesh(), Mesh{{"data", 2}, {"fsdp", 2}, {"model", 2}},
                                    Mesh{{"fsdp", 2}, {"seq", 2}, {"model", 2}}, Mesh{{"seq", 8}},
                                    Mesh{{"expert", 4}, {"seq", 2}}};
  for (const Mask& mask : {Mask(CausalMask{}), Mask(SegmentMask{}), Mask(SlidingWindowMask{5}), Mask(PrefixMask{3})}) {
    expect_isolated_everywhere<DotProductAttention>(mask, meshes);
    expect_isolated_everywhere<FlashAttention>(mask, meshes);
    if (mask.type()->name() != "PrefixMask") expect_isolated_by_kernel(mask, meshes);
    for (const KeyExchange exchange : {KeyExchange::ring, KeyExchange::all_gather}) {
      for (const TokenOrder order : {TokenOrder::as_read, TokenOrder::zigzag}) {
        expect_split_isolated(mask, exchange, order, meshes);
      }
    }
  }
}

}  // namespace
}  // namespace tenon
