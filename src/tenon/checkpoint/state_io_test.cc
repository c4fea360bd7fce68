#include "tenon/checkpoint/state_io.h"

#include <gmock/gmock.h>

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

}  // namespace
}  // namespace tenon
