#include "tenon/checkpoint/state_io.h"

#include <gmock/gmock.h>

#include <fstream>

#include "tenon/checkpoint/checkpoint_test_util.h"
#include "tenon/pjrt/plugin.h"

namespace tenon {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// 0, 1, 2, … of these dimensions.
Literal counting(const Dims& dims) {
  std::vector<double> values(static_cast<size_t>(num_elements(dims)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  return Literal::from(DType::f32, dims, values);
}

Literal numbers(const Dims& dims, std::vector<double> values) { return Literal::from(DType::f32, dims, values); }

TEST(StateIo, FilesHoldLayersApartAndUnpadded) {
  const StateArray array{"layers.0::1.w", {2, 2, 3}, 2, {{}, "fsdp", "model"}};
  const Mesh mesh{{"fsdp", 4}, {"model", 2}};
  EXPECT_EQ(array.stored_type(mesh), (TensorType{DType::f32, {2, 4, 4}}));
  const auto tensors = to_file_tensors(array, counting({2, 4, 4}));
  ASSERT_EQ(tensors.size(), 2U);
  EXPECT_EQ(tensors[0], std::pair(std::string("layers.0.w"), numbers({2, 3}, {0, 1, 2, 4, 5, 6})));
  EXPECT_EQ(tensors[1], std::pair(std::string("layers.1.w"), numbers({2, 3}, {16, 17, 18, 20, 21, 22})));
  const auto scalar = to_file_tensors({"count", {}}, numbers({}, {7}));
  EXPECT_EQ(scalar[0].second, numbers({}, {7}));
}

class StateIoTest : public CheckpointDirTest {
 protected:
  OpenedCheckpoint saved(std::vector<std::pair<std::string, Literal>> tensors) {
    SaveRequest request;
    request.step = 1;
    request.tensors = std::move(tensors);
    CheckpointWriter writer = CheckpointWriter::open(dir_, options()).value();
    writer.save(request).value();
    return OpenedCheckpoint::open(path(step_dir_name(1))).value();
  }
  static std::string difference(std::vector<StateArray> arrays, const OpenedCheckpoint& checkpoint,
                                std::string_view ignored = {}) {
    try {
      check_compatible(arrays, checkpoint, ignored);
      return "";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::incompatible);
      return e.what();
    }
  }
};

TEST_F(StateIoTest, SaysWhatDiffers) {
  const OpenedCheckpoint c =
      saved({{"a.0.w", counting({3})}, {"a.1.w", counting({3})}, {"learner.m.x", counting({2})}});
  const StateArray stacked{"a.0::1.w", {2, 3}, 2};
  EXPECT_EQ(difference({stacked}, c, "learner."), "");
  EXPECT_EQ(difference({stacked, {"learner.m.x", {2}}}, c), "");
  EXPECT_THAT(difference({stacked}, c), HasSubstr("unexpected: learner.m.x"));
  EXPECT_THAT(difference({{"a.0::1.w", {3, 3}, 3}}, c, "learner."), HasSubstr("missing: a.2.w"));
  EXPECT_THAT(difference({{"a.0::1.w", {2, 4}, 2}}, c, "learner."),
              AllOf(HasSubstr("a.0.w (f32[3], expected f32[4])"), HasSubstr("a.1.w")));
}

TEST_F(StateIoTest, ListsAreCut) {
  std::vector<StateArray> arrays;
  for (int i = 0; i < 8; ++i) arrays.push_back({"p" + std::to_string(i), {1}});
  EXPECT_THAT(difference(arrays, saved({{"p0", counting({1})}})), HasSubstr("missing: p1, p2, p3, p4, p5 and 2 more"));
}

TEST_F(StateIoTest, RestoresOntoAnyMesh) {
  if (!pjrt::find_plugin("cpu")) GTEST_SKIP() << "no CPU plugin is installed";
  const Literal first = counting({3, 2}), second = numbers({3, 2}, {9, 8, 7, 6, 5, 4});
  const OpenedCheckpoint c = saved({{"l.0.w", first}, {"l.1.w", second}});
  const auto backend = Backend::open("cpu:4");
  const StateArray array{"l.0::1.w", {2, 3, 2}, 2, {{}, "fsdp", "model"}};
  for (const Mesh& mesh : {Mesh(), Mesh{{"fsdp", 2}, {"model", 2}}, Mesh{{"fsdp", 4}}}) {
    const Array restored = restore_array(array, c, backend, mesh);
    EXPECT_EQ(restored.type(), array.stored_type(mesh));
    const auto back = to_file_tensors(array, restored.to_literal());
    EXPECT_EQ(back[0].second, first) << to_string(mesh);
    EXPECT_EQ(back[1].second, second) << to_string(mesh);
  }
  // Padding is zero.
  const Literal padded = restore_array(array, c, backend, Mesh{{"fsdp", 4}}).to_literal();
  for (int64_t i = 6; i < 8; ++i) EXPECT_EQ(padded.as_double(i), 0);
  EXPECT_THROW(restore_array({"l.0::1.w", {2, 4, 2}, 2}, c, backend, Mesh()), Error);
}

// A vocabulary of 259, which no mesh divides; stacked layers split along two dimensions; a replicated vector.
TEST_F(StateIoTest, EveryDeviceGetsItsPart) {
  if (!pjrt::find_plugin("cpu")) GTEST_SKIP() << "no CPU plugin is installed";
  const std::vector<StateArray> arrays = {
      {"embedding", {259, 6}, 0, {"model", "fsdp"}},
      {"head", {6, 259}, 0, {"fsdp", Axis{"data", "model"}}},
      {"l.0::2.w", {3, 5, 4}, 3, {{}, "fsdp", "model"}},
      {"l.1::2.b", {3, 7}, 3, {"fsdp", {}}},  // the stack itself is split
      {"scale", {5}},
      {"count", {}},
  };
  const auto value = [](const StateArray& array, int64_t i) {
    return static_cast<double>(i) + 1000.0 * static_cast<double>(array.name.size());
  };
  std::vector<std::pair<std::string, Literal>> tensors;
  for (const StateArray& array : arrays) {
    Literal whole(TensorType{DType::f32, array.shape});
    for (int64_t i = 0; i < whole.size(); ++i) whole.set(i, value(array, i));
    for (auto& tensor : to_file_tensors(array, whole)) tensors.push_back(std::move(tensor));
  }
  const OpenedCheckpoint c = saved(std::move(tensors));
  const auto backend = Backend::open("cpu:8");
  for (const Mesh& mesh : {Mesh(), Mesh{{"fsdp", 2}}, Mesh{{"model", 4}}, Mesh{{"fsdp", 4}, {"model", 2}},
                           Mesh{{"data", 2}, {"fsdp", 2}, {"model", 2}}}) {
    for (const StateArray& array : arrays) {
      const Array restored = restore_array(array, c, backend, mesh);
      ASSERT_EQ(restored.type(), array.stored_type(mesh));
      for (int64_t d = 0; d < mesh.num_devices(); ++d) {
        const ArraySlice slice = mesh.slice(restored.type().dims, array.partition, d);
        const Literal shard = restored.shard(d);
        const Dims strides = row_major_strides(array.shape), shard_strides = row_major_strides(slice.size);
        for (int64_t i = 0; i < shard.size(); ++i) {
          int64_t place = 0;
          bool padding = false;
          for (size_t k = 0; k < slice.size.size(); ++k) {
            const int64_t at = slice.offset[k] + i / shard_strides[k] % slice.size[k];
            padding = padding || at >= array.shape[k];
            place += at * strides[k];
          }
          ASSERT_EQ(shard.as_double(i), padding ? 0 : value(array, place))
              << array.name << " element " << i << " of device " << d << ", mesh " << to_string(mesh);
        }
      }
    }
  }
}

TEST_F(StateIoTest, PartsThatSeveralDevicesHoldAreReadOnce) {
  if (!pjrt::find_plugin("cpu")) GTEST_SKIP() << "no CPU plugin is installed";
  const OpenedCheckpoint c = saved({{"w", counting({8, 4})}});
  const auto backend = Backend::open("cpu:8");
  int reads = 0;
  set_fault_handler([&](std::string_view at) { return reads += at == "file.read", 0; });
  for (const auto& [partition, expected] : {std::pair(PartitionSpec{}, 1), std::pair(PartitionSpec{"model"}, 2),
                                            std::pair(PartitionSpec{Axis{"data", "model"}}, 8)}) {
    reads = 0;
    const Array restored = restore_array({"w", {8, 4}, 0, partition}, c, backend, Mesh{{"data", 4}, {"model", 2}});
    EXPECT_EQ(reads, expected);
    EXPECT_EQ(restored.to_literal(), counting({8, 4}));
  }
}

// What went bad between opening and reading.
TEST_F(StateIoTest, WholeTensorsAreComparedAgain) {
  if (!pjrt::find_plugin("cpu")) GTEST_SKIP() << "no CPU plugin is installed";
  const OpenedCheckpoint c = saved({{"w", counting({8, 4})}});
  const std::string file = path(step_dir_name(1)) + "/shard_00000.safetensors";
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(-1, std::ios::end).put('\x55');
  try {
    restore_array({"w", {8, 4}}, c, Backend::open("cpu:1"), Mesh());
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::damaged);
    EXPECT_THAT(e.what(), AllOf(HasSubstr("tensor \"w\""), HasSubstr(file)));
  }
}

}  // namespace
}  // namespace tenon
