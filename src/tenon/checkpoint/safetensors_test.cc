#include "tenon/checkpoint/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tenon/base/hash.h"
#include "tenon/checkpoint/checkpoint_test_util.h"

namespace tenon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class SafetensorsTest : public testing::Test {
 protected:
  SafetensorsTest() : dir_(new_test_dir()) { make_dirs(dir_).value(); }
  ~SafetensorsTest() override { remove_tree(dir_).value(); }
  std::string path(const std::string& name) const { return join_path(dir_, name); }
  Result<SafetensorsFile> open_bytes(const std::string& bytes) const {
    write_file_atomic(path("x.safetensors"), bytes).value();
    return SafetensorsFile::open(path("x.safetensors"));
  }
  std::string dir_;
};

std::string prefix(uint64_t length) {
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>(length >> (8 * i));
  return text;
}
std::string file_of(const std::string& json, const std::string& data) { return prefix(json.size()) + json + data; }

TEST_F(SafetensorsTest, ReadsAFileWrittenByHand) {
  const std::string json =
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"U8","shape":[2,2],"data_offsets":[4,8]},)"
      R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},"empty":{"dtype":"F16","shape":[0,3],"data_offsets":[8,8]}}  )";
  const Result<SafetensorsFile> file = open_bytes(file_of(json, std::string("\0\0\x80\x3f\1\2\3\4", 8)));
  ASSERT_TRUE(file.ok()) << file.error().what();
  EXPECT_EQ((*file).metadata().at("format"), "pt");
  EXPECT_EQ((*file).tensors().size(), 3u);
  EXPECT_EQ((*file).read("a").value(), Literal::scalar(DType::f32, 1));
  EXPECT_EQ((*file).read("b").value(), Literal::from(DType::u8, {2, 2}, std::vector<int64_t>{1, 2, 3, 4}));
  EXPECT_EQ((*file).read_block("b", {{1, 0}, {1, 2}}).value(),
            Literal::from(DType::u8, {1, 2}, std::vector<int64_t>{3, 4}));
  EXPECT_EQ((*file).read_block("b", {{1, 0}, {0, 2}}).value().size(), 0);
  EXPECT_EQ((*file).read("empty").value().dims(), (Dims{0, 3}));
  EXPECT_EQ((*file).read_block("empty", {{0, 0}, {0, 3}}).value().dims(), (Dims{0, 3}));
  EXPECT_EQ((*file).read_block("b", {{0, 0}, {3, 2}}).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ((*file).read_block("b", {{2, 0}, {-1, 2}}).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ((*file).read_block("a", {{0}, {0}}).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ((*file).read("emty").error().hint(), "did you mean empty?");
}

TEST_F(SafetensorsTest, WritesTheBytesTheFormatSays) {
  SafetensorsWriter writer =
      SafetensorsWriter::create(path("w"), {{"b", {DType::u8, {3}}}, {"a", {DType::f32, {1}}}}, {{"k", "v"}}).value();
  EXPECT_EQ(writer.tensors()[0].name, "a");
  writer.write(Literal::from(DType::f32, {1}, std::vector<double>{1}).bytes()).value();
  writer.write(Literal::from(DType::u8, {2}, std::vector<int64_t>{7, 8}).bytes()).value();
  writer.write(Literal::from(DType::u8, {1}, std::vector<int64_t>{9}).bytes()).value();
  writer.finish().value();
  std::string json = R"({"__metadata__":{"k":"v"},"a":{"data_offsets":[0,4],"dtype":"F32","shape":[1]},)"
                     R"("b":{"data_offsets":[4,7],"dtype":"U8","shape":[3]}})";
  json.append((8 - json.size() % 8) % 8, ' ');
  const std::string expected = file_of(json, std::string("\0\0\x80\x3f\7\x8\x9", 7));
  EXPECT_EQ(read_file(path("w")).value(), expected);
  EXPECT_EQ(writer.crc(), crc32c(expected));
  EXPECT_EQ(writer.bytes_written(), expected.size());
}

TEST_F(SafetensorsTest, EveryTypeRoundTrips) {
  std::vector<std::pair<std::string, TensorType>> types;
  for (const DType dtype : kAllDTypes)
    types.emplace_back("t." + std::string(to_string(dtype)), TensorType{dtype, {2, 3}});
  SafetensorsWriter writer = SafetensorsWriter::create(path("w"), types).value();
  for (const TensorInfo& tensor : writer.tensors()) {
    EXPECT_EQ(tensor.begin % byte_size(tensor.type.dtype), 0u) << tensor.name;
    writer.write(Literal::from(tensor.type.dtype, {2, 3}, std::vector<int64_t>{0, 1, 1, 0, 1, 0}).bytes()).value();
  }
  writer.finish().value();
  const SafetensorsFile file = SafetensorsFile::open(path("w")).value();
  for (const auto& [name, type] : types) {
    const Literal read = file.read(name).value();
    EXPECT_EQ(read.type(), type);
    EXPECT_EQ(read.to_doubles(), (std::vector<double>{0, 1, 1, 0, 1, 0}));
  }
}

TEST_F(SafetensorsTest, NoTensorsAtAll) {
  SafetensorsWriter::create(path("w"), {}).value().finish().value();
  EXPECT_TRUE(SafetensorsFile::open(path("w")).value().tensors().empty());
}

TEST_F(SafetensorsTest, WriterRefusesWrongUse) {
  EXPECT_THROW((void)SafetensorsWriter::create(path("a"), {{"x", {}}, {"x", {}}}), Error);
  EXPECT_THROW((void)SafetensorsWriter::create(path("b"), {{"__metadata__", {}}}), Error);
  EXPECT_THROW((void)SafetensorsWriter::create(path("c"), {{"\xff", {}}}), Error);
  SafetensorsWriter writer = SafetensorsWriter::create(path("d"), {{"x", {DType::u8, {2}}}}).value();
  EXPECT_THROW((void)writer.finish(), Error);
  EXPECT_THROW((void)writer.write(std::vector<std::byte>(3)), Error);
  EXPECT_EQ(SafetensorsWriter::create(path("d"), {}).error().code(), ErrorCode::io);
}

struct Hostile {
  std::string name;
  std::string bytes;
  std::string message;
  ErrorCode code = ErrorCode::damaged;
};

// One tensor "w" of four bytes with the given fields.
std::string with_fields(const std::string& fields, const std::string& data = "1234") {
  return file_of(R"({"w":{)" + fields + "}}", data);
}
std::string tensor(const std::string& shape, const std::string& offsets, const std::string& dtype = "\"U8\"") {
  return R"("dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets;
}

std::vector<Hostile> hostile_files() {
  const std::string ok = R"({"w":{)" + tensor("[4]", "[0,4]") + "}}";
  const std::string two = R"({"a":{)" + tensor("[2]", "[0,2]") + R"(},"b":{)";
  std::string deep = R"({"w":{"shape":)" + std::string(100000, '[');
  std::string rank = "[1";
  for (int i = 0; i < 40; ++i) rank += ",1";
  return {
      {"empty", "", "ends before"},
      {"seven_bytes", std::string(7, '\0'), "ends before"},
      {"header_length_zero", prefix(0), "doesn't start with {"},
      {"header_longer_than_file", prefix(100) + ok, "longer than it can be"},
      {"header_length_max", prefix(~uint64_t{0}) + ok, "longer than it can be"},
      {"header_over_cap", prefix(100'000'001) + ok, "longer than it can be"},
      {"header_length_2_63", prefix(uint64_t{1} << 63) + ok, "longer than it can be"},
      {"not_json", file_of("{not json}", ""), "not JSON at byte"},
      {"leading_space", file_of(" " + ok, "1234"), "doesn't start with {"},
      {"byte_order_mark", file_of("\xef\xbb\xbf" + ok, "1234"), "doesn't start with {"},
      {"array_at_top", file_of("[]", ""), "doesn't start with {"},
      {"cut_json", file_of(ok.substr(0, 20), "1234"), "not JSON"},
      {"trailing_rubbish", file_of(ok + "x", "1234"), "not JSON"},
      {"second_object", file_of(ok + ok, "1234"), "not JSON"},
      {"zero_byte_hides_rubbish", file_of(ok + std::string("\0{\"x\"", 6), "1234"), "zero byte at byte"},
      {"invalid_utf8_name", file_of("{\"\xff\":{" + tensor("[4]", "[0,4]") + "}}", "1234"), "not JSON"},
      {"tensor_is_a_number", file_of(R"({"w":4})", "1234"), "\"w\": the number 4"},
      {"tensor_is_null", file_of(R"({"w":null})", "1234"), "\"w\": null"},
      {"tensor_is_an_array", file_of(R"({"w":[]})", "1234"), "\"w\": an array"},
      {"duplicate_tensor", file_of(two + tensor("[2]", "[2,4]") + R"(},"a":{)" + tensor("[2]", "[2,4]") + "}}", "1234"),
       "\"a\": the key \"a\" stands there twice"},
      {"duplicate_field", with_fields(tensor("[4]", "[0,4]") + R"(,"shape":[4])"), "\"shape\" stands there twice"},
      {"duplicate_metadata", file_of(R"({"__metadata__":{"a":"1","a":"2"}})", ""), "stands there twice"},
      {"metadata_number", file_of(R"({"__metadata__":{"a":1}})", ""), "the number 1"},
      {"metadata_object", file_of(R"({"__metadata__":{"a":{}}})", ""), "an object"},
      {"metadata_is_a_list", file_of(R"({"__metadata__":[]})", ""), "an array"},
      {"no_dtype", with_fields(R"("shape":[4],"data_offsets":[0,4])"), "no dtype"},
      {"no_shape", with_fields(R"("dtype":"U8","data_offsets":[0,4])"), "no shape"},
      {"no_offsets", with_fields(R"("dtype":"U8","shape":[4])"), "data_offsets are not two"},
      {"unknown_field", with_fields(tensor("[4]", "[0,4]") + R"(,"x":[1])"), "behind the key \"x\""},
      {"one_offset", with_fields(tensor("[4]", "[4]")), "data_offsets are not two"},
      {"three_offsets", with_fields(tensor("[4]", "[0,4,4]")), "data_offsets are not two"},
      {"unknown_dtype", with_fields(tensor("[4]", "[0,4]", "\"F4\"")), "\"F4\"", ErrorCode::unsupported},
      {"lower_case_dtype", with_fields(tensor("[4]", "[0,4]", "\"u8\"")), "\"u8\"", ErrorCode::unsupported},
      {"dtype_is_a_number", with_fields(tensor("[4]", "[0,4]", "7")), "the number 7"},
      {"negative_dimension", with_fields(tensor("[-4]", "[0,4]")), "the number -4"},
      {"fractional_dimension", with_fields(tensor("[4.0]", "[0,4]")), "the number 4.0"},
      {"dimension_over_64_bits", with_fields(tensor("[18446744073709551616]", "[0,4]")),
       "the number 18446744073709551616"},
      {"dimension_over_63_bits", with_fields(tensor("[18446744073709551615]", "[0,4]")), "too large"},
      {"product_wraps_to_four", with_fields(tensor("[4294967296,4294967296,4]", "[0,4]")), "too large"},
      {"bytes_wrap", with_fields(tensor("[4611686018427387905]", "[0,4]", "\"F32\"")), "too large"},
      {"zero_hides_wrap", with_fields(tensor("[9223372036854775807,9223372036854775807,0]", "[0,0]"), ""), "too large"},
      {"rank_41", with_fields(tensor(rank + "]", "[0,1]"), "1"), "more than 32"},
      {"nested_shape", with_fields(tensor("[[4]]", "[0,4]")), "an array"},
      {"nested_100000_deep", file_of(deep, ""), "an array"},
      {"backwards", with_fields(tensor("[4]", "[4,0]")), "run backwards"},
      {"shape_larger_than_bytes", with_fields(tensor("[5]", "[0,4]")), "don't fit U8[5]"},
      {"shape_smaller_than_bytes", with_fields(tensor("[3]", "[0,4]")), "don't fit U8[3]"},
      {"behind_the_end", with_fields(tensor("[5]", "[0,5]")),
       "\"w\": data_offsets 0 to 5 lie behind the end of the data, 4"},
      {"exabyte_tensor", with_fields(tensor("[1152921504606846976]", "[0,1152921504606846976]")), "behind the end"},
      {"offset_wraps_header", with_fields(tensor("[4]", "[18446744073709551612,18446744073709551615]")),
       "behind the end"},
      {"overlap", file_of(two + tensor("[3]", "[1,4]") + "}}", "1234"),
       "\"b\": overlaps the tensor in front of it at byte"},
      {"same_bytes_twice", file_of(two + tensor("[2]", "[0,2]") + "}}", "12"), "overlaps"},
      {"hole", file_of(two + tensor("[1]", "[3,4]") + "}}", "1234"), "\"b\": has a gap"},
      {"hole_at_the_front", with_fields(tensor("[3]", "[1,4]")), "\"w\": has a gap"},
      {"rubbish_behind", with_fields(tensor("[4]", "[0,4]"), "1234PK"), "belong to no tensor"},
      {"data_without_tensors", file_of("{}", "1234"), "belong to no tensor"},
  };
}

TEST_F(SafetensorsTest, HostileFilesAreRefusedWithThePlace) {
  const std::vector<Hostile> cases = hostile_files();
  EXPECT_GE(cases.size(), 45u);
  for (const Hostile& hostile : cases) {
    const Result<SafetensorsFile> file = open_bytes(hostile.bytes);
    ASSERT_FALSE(file.ok()) << hostile.name;
    EXPECT_EQ(file.error().code(), hostile.code) << hostile.name << ": " << file.error().what();
    EXPECT_THAT(file.error().what(), HasSubstr(hostile.message)) << hostile.name;
    EXPECT_THAT(file.error().what(), HasSubstr("x.safetensors")) << hostile.name;
  }
  EXPECT_TRUE(open_bytes(with_fields(tensor("[4]", "[0,4]"))).ok());
}

TEST_F(SafetensorsTest, TruthValuesAreZeroOrOne) {
  const SafetensorsFile file =
      open_bytes(with_fields(tensor("[4]", "[0,4]", "\"BOOL\""), std::string("\0\1\2\0", 4))).value();
  EXPECT_EQ(file.read("w").error().code(), ErrorCode::damaged);
  EXPECT_TRUE(file.read_block("w", {{0}, {2}}).ok());
}

TEST_F(SafetensorsTest, NoCutAndNoChangedByteCrashes) {
  const std::string good = with_fields(tensor("[2,2]", "[0,4]"));
  for (size_t length = 0; length < good.size(); ++length) EXPECT_FALSE(open_bytes(good.substr(0, length)).ok());
  for (size_t at = 0; at < good.size() - 4; ++at) {
    for (const int change : {1, 0x20, 0x80, 0xff}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ change);
      const Result<SafetensorsFile> file = open_bytes(bad);
      // Whatever is still accepted describes exactly the four bytes.
      if (!file.ok()) continue;
      ASSERT_EQ((*file).tensors().size(), 1u);
      EXPECT_EQ(byte_size((*file).tensors()[0].type), 4);
    }
  }
}

}  // namespace
}  // namespace tenon
