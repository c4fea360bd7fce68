#include "tenon/runtime/largest_array.h"

#include <gmock/gmock.h>

#include "tenon/ir/ops.h"
#include "tenon/ir/ops/manual.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/runtime/jit.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
using Tensors = std::vector<Tensor>;

constexpr int64_t kGib = int64_t{1} << 30;
const std::vector<TensorType> kRow{{DType::f32, {1, 1024}}};

LargestArray largest_of(const TensorFn& body, const Mesh& mesh) {
  const Graph graph = make_graph(kRow, [&](const Tensors& p) {
    current_trace().set_path("decoder.norm");
    return body(p);
  });
  return largest_array(*graph.trace, graph.root, mesh);
}

TEST(LargestArray, IsWhatOneDeviceHas) {
  const Mesh mesh{{"data", 4}, {"model", 2}};
  // 1 GiB in all.
  const auto big = [](const Tensors& p) { return broadcast_to(p[0], {int64_t{1} << 18, 1024}); };
  const LargestArray free = largest_of([&](const Tensors& p) { return Tensors{sum_all(big(p))}; }, mesh);
  EXPECT_THAT(free.where, HasSubstr("decoder.norm/broadcast_in_dim"));
  EXPECT_EQ(free.type, (TensorType{DType::f32, {1 << 18, 1024}}));
  EXPECT_EQ(free.bytes, kGib / 8);
  EXPECT_EQ(free.num_devices, 8);
  const auto split = [&](const PartitionSpec& spec) {
    return largest_of([&](const Tensors& p) { return Tensors{shard(big(p), spec)}; }, mesh).bytes;
  };
  EXPECT_EQ(split({}), kGib);
  EXPECT_EQ(split({"data"}), kGib / 4);
  EXPECT_EQ(split({"data", "model"}), kGib / 8);
  EXPECT_EQ(largest_of([](const Tensors& p) { return p; }, mesh).bytes, 0);
}

TEST(LargestArray, IsFoundInRegions) {
  const Mesh mesh{{"data", 4}, {"model", 2}};
  const auto over = [&](const std::vector<std::string>& axes) {
    return largest_of(
               [&](const Tensors& p) {
                 return manual(
                     mesh, p, {{}}, {{}},
                     [](const Tensors& x) {
                       const Tensor wide = broadcast_to(x[0], {int64_t{1} << 18, 1024});
                       return Tensors{reshape(reduce_sum(wide, {0}), {1, 1024})};
                     },
                     axes);
               },
               mesh)
        .bytes;
  };
  EXPECT_EQ(over({}), kGib);
  EXPECT_EQ(over({"data"}), kGib / 2);
}

TEST(LargestArray, IsBoundedByThePlatform) {
  const auto error = [](int64_t bytes, std::string_view platform) {
    return error_of([&] { check_largest({"decoder/exp", {DType::i8, {bytes}}, bytes, 1}, platform); });
  };
  const int64_t cpu = 128 * kGib, most = 1024 * 1024 * kGib;
  EXPECT_FALSE(error(cpu, "cpu"));
  EXPECT_FALSE(error(most, "tpu"));
  const auto counted = error(cpu + 1, "cpu"), held = error(most + 1, "tpu");
  ASSERT_TRUE(counted && held);
  EXPECT_EQ(counted->code(), ErrorCode::out_of_memory);
  EXPECT_EQ(counted->path(), "decoder/exp");
  EXPECT_THAT(counted->what(), HasSubstr("larger than XLA's compiler for CPUs can count (got 128.0 GiB of "
                                         "i8[137438953473] on each of 1 devices, expected at most 128.0 GiB)"));
  EXPECT_THAT(held->what(), HasSubstr("larger than any device's memory"));
}

// The compiler ends the process over this one.
TEST(LargestArray, IsRefusedBeforeItIsCompiledForCpus) {
  const auto error = error_of([&] {
    jit(Backend::open("cpu"), kRow, [](const Tensors& p) {
      current_trace().set_path("decoder.norm");
      return Tensors{exp(broadcast_to(p[0], {int64_t{1} << 28, 1024}))};
    });
  });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::out_of_memory);
  EXPECT_THAT(error->path(), HasSubstr("decoder.norm/"));
  EXPECT_THAT(error->what(), HasSubstr("1.0 TiB"));
}

}  // namespace
}  // namespace tenon
