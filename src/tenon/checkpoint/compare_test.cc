#include "tenon/checkpoint/compare.h"

#include <gmock/gmock.h>

#include <cerrno>
#include <cmath>

#include "tenon/checkpoint/checkpoint_test_util.h"
#include "tenon/checkpoint/export.h"
#include "tenon/checkpoint/safetensors.h"

namespace tenon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CompareTest : public CheckpointDirTest {
 protected:
  OpenedCheckpoint saved(const SaveRequest& request) const {
    CheckpointWriter writer = CheckpointWriter::open(dir_, options(100)).value();
    return OpenedCheckpoint::open(writer.save(request).value().path).value();
  }
};

TEST_F(CompareTest, SaysWhatDiffers) {
  const OpenedCheckpoint a = saved(example_request(1));
  SaveRequest request = example_request(2);
  request.tensors[1].second = Literal::from(DType::f32, {4}, std::vector<double>{5, 6, 1, 8});
  request.tensors[2].first = "counter";
  request.tensors.emplace_back("same", Literal::scalar(DType::f32, 1));
  const CheckpointDifference d = compare(a, saved(request), true);
  EXPECT_THAT(d.only_before, ElementsAre("count"));
  EXPECT_THAT(d.only_after, ElementsAre("counter", "same"));
  ASSERT_EQ(d.types.size(), 1u);
  EXPECT_EQ(d.types[0].name, "decoder.emb");
  EXPECT_EQ(to_string(d.types[0].after), "f32[4]");
  ASSERT_EQ(d.values.size(), 1u);
  EXPECT_EQ(d.values[0].name, "decoder.layers.0.w");
  EXPECT_EQ(d.values[0].max_difference, 1.0);  // 1 and 2 at the ends
  EXPECT_EQ(d.equal, 0);
  EXPECT_FALSE(d.same_tree());
  const CheckpointDifference none = compare(a, a, true);
  EXPECT_EQ(none.equal, 3);
  EXPECT_TRUE(none.same_tree() && none.values.empty());
}

TEST_F(CompareTest, InfiniteAndMissingNumbers) {
  const auto with = [&](int64_t step, const std::vector<double>& values) {
    SaveRequest request;
    request.step = step;
    request.tensors = {{"x", Literal::from(DType::f32, {2}, values)}};
    return saved(request);
  };
  const auto apart = [&](const std::vector<double>& a, const std::vector<double>& b) {
    return *compare(with(1, a), with(2, b), true).values.at(0).max_difference;
  };
  EXPECT_TRUE(std::isnan(apart({NAN, 0}, {1, 0})));
  EXPECT_EQ(apart({NAN, 0}, {NAN, 3}), 3);
  EXPECT_EQ(apart({INFINITY, 0}, {1, 0}), INFINITY);
}

TEST_F(CompareTest, ExportsTheModelAlone) {
  SaveRequest request = example_request(7);
  request.tensors.emplace_back("learner.m.decoder.emb", Literal::scalar(DType::f32, 1));
  const OpenedCheckpoint checkpoint = saved(request);
  const ExportReport report = export_tensors(checkpoint, path("model.safetensors"));
  EXPECT_EQ(report.tensors, 3);
  EXPECT_EQ(file_size(path("model.safetensors")).value(), report.bytes);
  const SafetensorsFile file = SafetensorsFile::open(path("model.safetensors")).value();
  EXPECT_EQ(file.tensors().size(), 3u);
  EXPECT_EQ(file.metadata().at("tenon.step"), "7");
  for (const TensorInfo& tensor : file.tensors()) {
    EXPECT_EQ(file.read(tensor.name).value(), checkpoint.read(tensor.name).value());
  }
}

TEST_F(CompareTest, ExportsConvertedAndChosenTensors) {
  const OpenedCheckpoint checkpoint = saved(example_request(257));  // 257 is no bf16: 256 is the nearest
  export_tensors(checkpoint, path("m"), {.tensors = R"(decoder\..*|count)", .dtype = DType::bf16});
  const SafetensorsFile file = SafetensorsFile::open(path("m")).value();
  const Literal w = file.read("decoder.layers.0.w").value();
  EXPECT_EQ(w.dtype(), DType::bf16);
  EXPECT_EQ(w.to_doubles(), (std::vector<double>{256, 1, 2, 3, 4, 256}));
  EXPECT_EQ(file.find("count").value().type.dtype, DType::i64);
}

TEST_F(CompareTest, ExportErrorsLeaveNoFile) {
  SaveRequest request = example_request(1);
  request.tensors.emplace_back("big", Literal::scalar(DType::f32, 1e6));
  const OpenedCheckpoint checkpoint = saved(request);
  write_file_atomic(path("there"), "precious").value();
  const auto failure = [&](const std::string& name, const ExportOptions& options) {
    try {
      export_tensors(checkpoint, path(name), options);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("nothing was thrown");
  };
  EXPECT_THAT(failure("there", {}), HasSubstr("the file exists"));
  EXPECT_EQ(read_file(path("there")).value(), "precious");
  EXPECT_THAT(failure("x", {.tensors = "nothing"}), HasSubstr("no tensor has such a name"));
  EXPECT_THAT(failure("x", {.tensors = "("}), HasSubstr("invalid_argument"));
  EXPECT_THAT(failure("x", {.dtype = DType::i32}), HasSubstr("not a floating-point dtype"));
  EXPECT_THAT(failure("x", {.dtype = DType::f16}), HasSubstr("a value that f16 can't hold"));
  set_fault_handler([](std::string_view at) { return at == "file.write" ? ENOSPC : 0; });
  EXPECT_THAT(failure("x", {}), HasSubstr("no_space"));
  set_fault_handler({});
  for (const std::string& name : list_dir(dir_).value()) EXPECT_NE(name.substr(0, 1), "x");
}

}  // namespace
}  // namespace tenon
