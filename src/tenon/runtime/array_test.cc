#include "tenon/runtime/array.h"

#include <gmock/gmock.h>

#include "tenon/pjrt/plugin.h"
#include "tenon/runtime/block_copy.h"

namespace tenon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(BlockCopy, MatchesElementLoops) {
  const Dims dims{4, 6, 5};
  std::vector<std::byte> array(4 * 6 * 5 * 2);
  for (size_t i = 0; i < array.size(); ++i) array[i] = static_cast<std::byte>(i);
  for (const ArraySlice& s :
       {ArraySlice{{0, 0, 0}, {4, 6, 5}}, ArraySlice{{2, 0, 0}, {2, 6, 5}}, ArraySlice{{1, 3, 0}, {2, 3, 5}},
        ArraySlice{{0, 2, 4}, {4, 2, 1}}, ArraySlice{{3, 5, 1}, {1, 1, 2}}, ArraySlice{{0, 0, 0}, {4, 0, 5}}}) {
    std::vector<std::byte> block(static_cast<size_t>(num_elements(s.size)) * 2);
    extract_block(array, dims, s, 2, block);
    size_t at = 0;
    std::vector<std::byte> expected_back(array.size());
    for (int64_t i = 0; i < s.size[0]; ++i) {
      for (int64_t j = 0; j < s.size[1]; ++j) {
        for (int64_t k = 0; k < s.size[2]; ++k) {
          const int64_t from = ((i + s.offset[0]) * 6 + j + s.offset[1]) * 5 + k + s.offset[2];
          for (size_t b = 0; b < 2; ++b, ++at) {
            const size_t source = static_cast<size_t>(from) * 2 + b;
            ASSERT_EQ(block[at], array[source]);
            expected_back[source] = array[source];
          }
        }
      }
    }
    std::vector<std::byte> back(array.size());
    insert_block(block, s, dims, 2, back);
    EXPECT_EQ(back, expected_back);
  }
}

TEST(Platform, MustMakeSense) {
  for (const char* text : {"cpu:0", "cpu:x", "cpu:", "cpu:-1", "cpu:100000", "cuda:2"}) {
    try {
      Backend::open(text);
      ADD_FAILURE() << text;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
      EXPECT_THAT(e.what(), HasSubstr(text));
    }
  }
  try {
    Backend::open("cdua");
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unknown_name);
    EXPECT_THAT(e.hint(), HasSubstr("cuda"));
  }
}

class ArrayOnCpu : public ::testing::Test {
 protected:
  static std::shared_ptr<const Backend> backend() {
    static const std::shared_ptr<const Backend> four = Backend::open("cpu:4");
    return four;
  }
  void SetUp() override {
    if (!pjrt::find_plugin("cpu")) GTEST_SKIP() << "no CPU plugin is installed";
  }
};

TEST_F(ArrayOnCpu, RoundTripsInEveryTypeAndSharding) {
  const Mesh mesh{{"data", 2}, {"model", 2}};
  for (const DType dtype : kAllDTypes) {
    Literal values(TensorType{dtype, {4, 8}});
    for (int64_t i = 0; i < values.size(); ++i) {
      dtype == DType::i1 ? values.set_int(i, i % 3 == 0) : values.set(i, static_cast<double>(i % 14));
    }
    for (const PartitionSpec& spec :
         {PartitionSpec{}, PartitionSpec{"data"}, PartitionSpec{{}, "data"}, PartitionSpec{"model", "data"},
          PartitionSpec{{"data", "model"}}, PartitionSpec{{}, {"model", "data"}}}) {
      const Array array = Array::from_literal(backend(), mesh, spec, values);
      EXPECT_EQ(array.type(), values.type());
      EXPECT_EQ(array.to_literal(), values) << to_string(dtype) << " " << to_string(spec);
      array.wait();
    }
  }
}

TEST_F(ArrayOnCpu, EachDeviceHoldsItsPiece) {
  const Mesh mesh{{"data", 2}, {"model", 2}};
  const Literal values = Literal::from(DType::i32, {2, 4}, std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7});
  const Array array = Array::from_literal(backend(), mesh, {"model", "data"}, values);
  // Device 1 is data=0, model=1: row 1, columns 0 and 1.
  EXPECT_EQ(array.shard(1), Literal::from(DType::i32, {1, 2}, std::vector<int64_t>{4, 5}));
  EXPECT_EQ(array.shard(2), Literal::from(DType::i32, {1, 2}, std::vector<int64_t>{2, 3}));
  EXPECT_EQ(array.buffers()[2].size_in_bytes().value(), 8);
}

TEST_F(ArrayOnCpu, ScalarsAndEmptyArrays) {
  const Mesh mesh{{"data", 4}};
  const Literal scalar = Literal::scalar(DType::f32, 2.5);
  EXPECT_EQ(Array::from_literal(backend(), mesh, {}, scalar).to_literal(), scalar);
  const Literal empty(TensorType{DType::f32, {0, 8}});
  EXPECT_EQ(Array::from_literal(backend(), mesh, {{}, "data"}, empty).to_literal(), empty);
}

TEST_F(ArrayOnCpu, UnevenAndTooLargeAreErrors) {
  const Literal values(TensorType{DType::f32, {259, 4}});
  try {
    Array::from_literal(backend(), Mesh{{"fsdp", 2}}, {"fsdp"}, values);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::mesh_mismatch);
    EXPECT_THAT(e.what(), AllOf(HasSubstr("dimension 0"), HasSubstr("fsdp"), HasSubstr("259 over 2")));
  }
  try {
    Array::from_literal(backend(), Mesh{{"fsdp", 8}}, {}, values);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("8 devices"), HasSubstr("at most 4 on cpu")));
  }
}

}  // namespace
}  // namespace tenon
