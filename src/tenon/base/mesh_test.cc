#include "tenon/base/mesh.h"

#include <gmock/gmock.h>

#include <set>

namespace tenon {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
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

std::vector<int64_t> physical_devices(const Mesh& mesh) {
  std::vector<int64_t> out;
  for (int64_t d = 0; d < mesh.num_devices(); ++d) out.push_back(mesh.physical_device(d));
  return out;
}

TEST(Mesh, WithoutAnOuterPartDevicesKeepTheirOrder) {
  EXPECT_THAT(physical_devices(Mesh{{"data", 2}, {"fsdp", 2}, {"model", 2}}), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  // Nor does an outer part of the outermost axis change it.
  EXPECT_THAT(physical_devices(Mesh{{"data", 2}, {"model", 2}, {"outer.data", 2}}), ElementsAre(0, 1, 2, 3));
}

TEST(Mesh, TheOuterPartComesBeforeAllInnerOnes) {
  // Two nodes of four, fsdp between them: model and half of fsdp are inner. Mesh device 2 f + m is device m of pair
  // f % 2 of node f / 2, which is the machine's order.
  EXPECT_THAT(physical_devices(Mesh{{"fsdp", 4}, {"model", 2}, {"outer.fsdp", 2}}),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  // model between nodes: mesh device 2 f + m is device f of node m.
  EXPECT_THAT(physical_devices(Mesh{{"fsdp", 4}, {"model", 2}, {"outer.model", 2}}),
              ElementsAre(0, 4, 1, 5, 2, 6, 3, 7));
  // Half of fsdp between nodes, data within: mesh device 4 d + f is device 2 d + f % 2 of node f / 2.
  EXPECT_THAT(physical_devices(Mesh{{"data", 2}, {"fsdp", 4}, {"outer.fsdp", 2}}), ElementsAre(0, 1, 4, 5, 2, 3, 6, 7));
  // Four nodes of two, 2 data x 2 seq: mesh device 4 d + 2 s + m is device m of node 2 d + s % 2; d, s, m below 2.
  EXPECT_THAT(physical_devices(Mesh{{"data", 2}, {"seq", 2}, {"model", 2}, {"outer.data", 2}, {"outer.seq", 2}}),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  // 2 data x 2 model between four nodes: mesh device 4 d + 2 s + m is device s of node 2 d + m.
  EXPECT_THAT(physical_devices(Mesh{{"data", 2}, {"seq", 2}, {"model", 2}, {"outer.data", 2}, {"outer.model", 2}}),
              ElementsAre(0, 2, 1, 3, 4, 6, 5, 7));
}

TEST(Mesh, TheOuterPartDividesItsAxis) {
  const Mesh mesh = Mesh::resolve({1, -1, 1, 4, 1, 1}, 8, {1, 2, 1, 2, 1, 1});
  EXPECT_EQ(mesh, (Mesh{{"data", 2}, {"fsdp", 4}, {"outer.data", 2}, {"outer.fsdp", 2}}));
  EXPECT_NE(mesh, (Mesh{{"data", 2}, {"fsdp", 4}}));
  EXPECT_EQ(to_string(mesh), "data=2,fsdp=4,outer.data=2,outer.fsdp=2");
  const Error uneven = error_of([] { (void)Mesh::resolve({1, -1, 1, 4, 1, 1}, 24, {1, 4, 1, 1, 1, 1}); });
  EXPECT_EQ(uneven.code(), ErrorCode::mesh_mismatch);
  EXPECT_EQ(uneven.path(), "mesh.outer.data");
  EXPECT_THAT(uneven.what(), HasSubstr("got 4 of 6"));
  EXPECT_THAT(error_of([] { (void)Mesh{{"fsdp", 4}, {"outer.fsdp", 0}}; }).what(), HasSubstr("got 0 of 4"));
  EXPECT_EQ(error_of([] { (void)Mesh{{"fsdp", 4}, {"outer.fsdq", 2}}; }).code(), ErrorCode::unknown_name);
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
