#include "tenon/base/mesh.h"

#include <gmock/gmock.h>

#include <set>

namespace tenon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

template <class F>
Error error_of(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e;
  }
  ADD_FAILURE() << "nothing thrown";
  return Error(ErrorCode::internal, "");
}

TEST(Mesh, SizesAndDevices) {
  const Mesh mesh{{"fsdp", 2}, {"model", 3}};
  EXPECT_EQ(mesh.size("fsdp"), 2);
  EXPECT_EQ(mesh.size("data"), 1);
  EXPECT_EQ(mesh.num_devices(), 6);
  EXPECT_EQ(to_string(mesh), "fsdp=2,model=3");
  EXPECT_EQ(to_string(Mesh()), "1");
  EXPECT_EQ(mesh.coordinates(4), (Mesh::Sizes{0, 0, 0, 1, 0, 1}));
  EXPECT_EQ(error_of([&] { (void)mesh.coordinates(6); }).code(), ErrorCode::mesh_mismatch);
}

TEST(Mesh, UnknownAxisNamesTheNearest) {
  const Error e = error_of([] { (void)Mesh().size("modle"); });
  EXPECT_EQ(e.code(), ErrorCode::unknown_name);
  EXPECT_THAT(e.hint(), HasSubstr("model"));
}

TEST(Mesh, ResolvesOneOpenAxis) {
  EXPECT_EQ(Mesh::resolve({1, -1, 1, 2, 1, 2}, 16).size("data"), 4);
  EXPECT_EQ(Mesh::resolve({1, 1, 1, 1, 1, 1}, 1), Mesh());
  EXPECT_THAT(error_of([] { (void)Mesh::resolve({1, -1, 1, 3, 1, 1}, 8); }).what(),
              AllOf(HasSubstr("mesh_mismatch"), HasSubstr("axis data"), HasSubstr("3 does not divide 8")));
  EXPECT_THAT(error_of([] { (void)Mesh::resolve({1, -1, 1, -1, 1, 1}, 8); }).what(), HasSubstr("data and fsdp"));
  EXPECT_THAT(error_of([] { (void)Mesh::resolve({1, 1, 1, 2, 1, 2}, 8); }).what(),
              AllOf(HasSubstr("fsdp=2,model=2 = 4 devices"), HasSubstr("expected 8 devices")));
  EXPECT_THAT(error_of([] { (void)Mesh::resolve({1, 1, 1, 0, 1, 1}, 1); }).what(), HasSubstr("axis fsdp"));
  EXPECT_EQ(error_of([] { (void)Mesh{{"data", int64_t{1} << 40}, {"model", int64_t{1} << 40}}; }).code(),
            ErrorCode::mesh_mismatch);
}

TEST(Mesh, ShardsAndPadding) {
  const Mesh mesh{{"data", 2}, {"fsdp", 2}, {"model", 2}};
  const PartitionSpec spec{{"data", "fsdp"}, "model"};
  EXPECT_EQ(mesh.shards(spec.dims()[0]), 4);
  EXPECT_EQ(mesh.shard_dims({8, 6, 5}, spec), (Dims{2, 3, 5}));
  EXPECT_EQ(mesh.padded_dims({259, 6, 5}, spec), (Dims{260, 6, 5}));
  EXPECT_THAT(error_of([&] { (void)mesh.shard_dims({259, 6}, spec); }).what(),
              AllOf(HasSubstr("dimension 0 of [259,6]"), HasSubstr("data+fsdp"), HasSubstr("259 over 4"),
                    HasSubstr("pad it to 260")));
  EXPECT_THAT(error_of([&] { (void)mesh.shard_dims({8}, spec); }).what(), HasSubstr("more dimensions"));
  EXPECT_THAT(error_of([&] { (void)mesh.shard_dims({8, 8}, {"data", "data"}); }).what(), HasSubstr("twice"));
}

// Every element is held by as many devices as the unused axes have, and first_holder picks one of each group.
TEST(Mesh, SlicesCoverTheArray) {
  const Mesh mesh{{"data", 2}, {"fsdp", 3}, {"model", 2}};
  const PartitionSpec spec{{"model", "fsdp"}, {}};
  const Dims dims{12, 2};
  std::vector<int> holders(12, 0);
  std::set<int64_t> firsts;
  for (int64_t d = 0; d < mesh.num_devices(); ++d) {
    const ArraySlice s = mesh.slice(dims, spec, d);
    EXPECT_EQ(s.size, (Dims{2, 2}));
    EXPECT_EQ(s.offset[1], 0);
    for (int64_t i = 0; i < s.size[0]; ++i) ++holders[static_cast<size_t>(s.offset[0] + i)];
    const int64_t first = mesh.first_holder(spec, d);
    EXPECT_EQ(mesh.slice(dims, spec, first), s);
    EXPECT_LE(first, d);
    firsts.insert(first);
  }
  for (const int n : holders) EXPECT_EQ(n, 2);
  EXPECT_EQ(firsts.size(), 6U);
  // data=0, fsdp=1, model=1 is device 3: piece 1 * 3 + 1 of 6.
  EXPECT_EQ(mesh.slice(dims, spec, 3).offset, (Dims{8, 0}));
}

TEST(Mesh, NormalizeDropsWhatDoesNotSplit) {
  const Mesh mesh{{"fsdp", 2}};
  EXPECT_EQ(mesh.normalize({{"data", "fsdp"}, "model"}, 3), (PartitionSpec{"fsdp", {}, {}}));
  EXPECT_EQ(Mesh().normalize({"fsdp", "model"}, 2), Mesh().normalize({}, 2));
}

}  // namespace
}  // namespace tenon
