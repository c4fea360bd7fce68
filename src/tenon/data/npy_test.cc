#include "tenon/data/npy.h"

#include <gmock/gmock.h>

#include <cstring>

#include "tenon/data/test_dir.h"

namespace tenon {
namespace {

using testing::HasSubstr;

// A file of version 1 with this dictionary, filled up with spaces, and `data`.
std::string npy(const std::string& dictionary, const std::string& data) {
  std::string text("\x93NUMPY\1\0\0\0", 10);
  std::string header = dictionary + std::string((64 - (10 + dictionary.size() + 1) % 64) % 64, ' ') + "\n";
  const auto length = static_cast<uint16_t>(header.size());
  std::memcpy(text.data() + 8, &length, 2);
  return text + header + data;
}

std::string npy(const std::string& type, const std::string& shape, const std::string& data) {
  return npy("{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }", data);
}

Result<NpyHeader> parse(const std::string& text) { return parse_npy_header(std::as_bytes(std::span(text))); }

std::string error(const std::string& text) {
  const Result<NpyHeader> header = parse(text);
  return header.ok() ? "none" : header.error().what();
}

TEST(NpyTest, ReadsHeaders) {
  const NpyHeader header = parse(npy("|u1", "(2, 3)", "abcdef")).value();
  EXPECT_EQ(header.type_name(), "uint8");
  EXPECT_EQ(header.shape, (Dims{2, 3}));
  EXPECT_EQ(header.data_begin, 128u);
  EXPECT_EQ(parse(npy("<i8", "(1,)", "12345678")).value().shape, Dims{1});
  EXPECT_EQ(parse(npy("<f4", "()", "1234")).value().shape, Dims{});
  EXPECT_EQ(parse(npy("<f4", "(0, 7)", "")).value().shape, (Dims{0, 7}));
  EXPECT_TRUE(parse(npy("{\"shape\":(1,),\"fortran_order\":False,\"descr\":\"|b1\"}", "x")).ok());
  // Version 2 has a longer length.
  std::string second = npy("|u1", "(1,)", "x");
  second[6] = 2;
  second.insert(10, 2, '\0');
  EXPECT_TRUE(parse(second).ok());
}

TEST(NpyTest, NamesTheOffsetOfWhatIsWrong) {
  EXPECT_THAT(error(""), HasSubstr("byte 0"));
  EXPECT_THAT(error("PK\3\4 a zip file"), HasSubstr("numpy's magic bytes"));
  EXPECT_THAT(error(npy("|u1", "(1,)", "x").substr(0, 9)), HasSubstr("byte 9"));
  EXPECT_THAT(error(npy("|u1", "(1,)", "x").substr(0, 50)), HasSubstr("a header of"));
  std::string newer = npy("|u1", "(1,)", "x");
  newer[6] = 9;
  EXPECT_THAT(error(newer), HasSubstr("version 1, 2 or 3"));
  EXPECT_THAT(error(npy("{'descr': '|u1', 'shape': (1,)}", "x")), HasSubstr("once each"));
  EXPECT_THAT(error(npy("{'shape': (1,), 'shape': (1,)}", "x")), HasSubstr("byte 33"));
  EXPECT_THAT(error(npy("|u1", "(1, -1)", "x")), HasSubstr("a size"));
  EXPECT_THAT(error(npy("|u1", "(1 2)", "x")), HasSubstr("',' or ')'"));
  EXPECT_THAT(error(npy("{'descr': '|u1", "x")), HasSubstr("byte"));
}

TEST(NpyTest, ComparesSizes) {
  EXPECT_THAT(error(npy("|u1", "(2, 3)", "abcde")), HasSubstr("5 bytes from byte 128 on"));
  EXPECT_THAT(error(npy("|u1", "(2, 3)", "abcdefg")), HasSubstr("[2,3] of uint8"));
  EXPECT_THAT(error(npy("<i8", "(4611686018427387904, 4)", "")), HasSubstr("isn't all of the rest"));
  EXPECT_THAT(error(npy("|u1", "(99999999999999999999,)", "")), HasSubstr("a size"));
}

TEST(NpyTest, RefusesWhatItDoesntRead) {
  EXPECT_THAT(error(npy(">i8", "(1,)", "12345678")), HasSubstr("unsupported"));
  EXPECT_THAT(error(npy("|O1", "(1,)", "x")), HasSubstr("numpy.save"));
  EXPECT_THAT(error(npy("{'descr': [('a', '|u1')], 'fortran_order': False, 'shape': (1,)}", "x")),
              HasSubstr("records"));
  EXPECT_THAT(error(npy("{'descr': '|u1', 'fortran_order': True, 'shape': (1,)}", "x")), HasSubstr("contiguous"));
}

class NpyFileTest : public TestDir {};

TEST_F(NpyFileTest, ReadsIntegersOfAllSizes) {
  const auto integers = [&](const std::string& type, const std::string& data) {
    const NpyFile file = NpyFile::open(write("a.npy", npy(type, "(2,)", data))).value();
    return std::vector<int64_t>{file.integer(0), file.integer(1)};
  };
  const std::string ones(16, '\xff');
  EXPECT_EQ(integers("|i1", {"\xfe\x01", 2}), (std::vector<int64_t>{-2, 1}));
  EXPECT_EQ(integers("|u1", {"\xfe\x01", 2}), (std::vector<int64_t>{254, 1}));
  EXPECT_EQ(integers("<i2", ones.substr(0, 4)), (std::vector<int64_t>{-1, -1}));
  EXPECT_EQ(integers("<u4", ones.substr(0, 8)), (std::vector<int64_t>{4294967295, 4294967295}));
  EXPECT_EQ(integers("<i8", ones), (std::vector<int64_t>{-1, -1}));
  EXPECT_EQ(NpyFile::open(path("none.npy")).error().code(), ErrorCode::not_found);
  EXPECT_THAT(NpyFile::open(write("bad.npy", "bad")).error().path(), testing::EndsWith("bad.npy"));
}

}  // namespace
}  // namespace tenon
