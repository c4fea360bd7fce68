#include "tenon/checkpoint/file_block.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "tenon/checkpoint/checkpoint_test_util.h"
#include "tenon/checkpoint/safetensors.h"

namespace tenon {
namespace {

// Bytes and calls of all reads of this process so far, as the system counts them.
struct Reads {
  int64_t bytes = 0, calls = 0;
  static Reads now() {
    std::ifstream counters("/proc/self/io");
    Reads reads;
    std::string key;
    for (int64_t value = 0; counters >> key >> value;) {
      if (key == "rchar:") reads.bytes = value;
      if (key == "syscr:") reads.calls = value;
    }
    return reads;
  }
  Reads since(const Reads& before) const { return {bytes - before.bytes, calls - before.calls}; }
};
// More than what looking at the counters itself reads.
constexpr int64_t kSlack = 1000;

class FileBlockTest : public CheckpointDirTest {
 protected:
  FileBlockTest() { make_dirs(dir_).value(); }
  // A file of `front` bytes and then `values`.
  InputFile file_of(const std::vector<float>& values, size_t front) const {
    std::string bytes(front + values.size() * sizeof(float), '\xee');
    std::memcpy(&bytes[front], values.data(), values.size() * sizeof(float));
    write_file_atomic(path("array"), bytes).value();
    return InputFile::open(path("array")).value();
  }
  static std::vector<float> read(const InputFile& file, uint64_t begin, const Dims& dims, const ArraySlice& slice) {
    std::vector<float> block(static_cast<size_t>(num_elements(slice.size)));
    read_file_block(file, begin, dims, slice, sizeof(float), std::as_writable_bytes(std::span(block))).value();
    return block;
  }
};

TEST_F(FileBlockTest, AnyBlockOfAnyShape) {
  constexpr size_t kFront = 3;
  std::mt19937 random(1);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  for (int round = 0; round < 300; ++round) {
    Dims dims(static_cast<size_t>(below(5)));
    ArraySlice slice{dims, dims};
    for (size_t i = 0; i < dims.size(); ++i) {
      dims[i] = 1 + below(i + 1 == dims.size() && round % 2 == 0 ? 3000 : 7);
      slice.size[i] = below(4) == 0 ? dims[i] : below(dims[i] + 1);
      slice.offset[i] = below(dims[i] - slice.size[i] + 1);
    }
    std::vector<float> values(static_cast<size_t>(num_elements(dims)));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    // Each element by its own index: the value says which one it was.
    std::vector<float> expected(static_cast<size_t>(num_elements(slice.size)));
    for (size_t i = 0; i < expected.size(); ++i) {
      int64_t rest = static_cast<int64_t>(i), place = 0, stride = 1;
      for (size_t d = dims.size(); d-- > 0; stride *= dims[d]) {
        place += (slice.offset[d] + rest % slice.size[d]) * stride;
        rest /= slice.size[d];
      }
      expected[i] = static_cast<float>(place);
    }
    const InputFile file = file_of(values, kFront);
    EXPECT_EQ(read(file, kFront, dims, slice), expected) << to_string(dims) << " " << to_string(slice.size);
  }
}

// Only reading what is asked for ends in a lifetime.
TEST_F(FileBlockTest, FourNumbersOfATerabyte) {
  const Dims dims{int64_t{1} << 18, int64_t{1} << 20};
  constexpr uint64_t kFront = 16;
  std::ofstream(path("huge")) << "";
  std::filesystem::resize_file(path("huge"), kFront + (uint64_t{1} << 40));
  const float value = 42;
  const uint64_t place = kFront + ((uint64_t{200'000} << 20) + 500'001) * sizeof(float);
  std::fstream(path("huge"), std::ios::in | std::ios::out | std::ios::binary)
      .seekp(static_cast<std::streamoff>(place))
      .write(reinterpret_cast<const char*>(&value), sizeof value);
  const InputFile file = InputFile::open(path("huge")).value();
  const Reads before = Reads::now();
  EXPECT_EQ(read(file, kFront, dims, {{199'999, 500'000}, {2, 2}}), (std::vector<float>{0, 0, 0, 42}));
  EXPECT_EQ(read(file, kFront, dims, {dims, {0, 0}}), std::vector<float>());
  EXPECT_LT(Reads::now().since(before).bytes, 4 * 4 + kSlack);
}

TEST_F(FileBlockTest, ReadsNoMoreThanPagesThatItNeeds) {
  const auto cost = [&](const Dims& dims, const ArraySlice& slice) {
    const InputFile file = file_of(std::vector<float>(static_cast<size_t>(num_elements(dims))), 0);
    const Reads before = Reads::now();
    read(file, 0, dims, slice);
    return Reads::now().since(before);
  };
  const Reads own = Reads::now().since(Reads::now());
  // Rows apart by more than a page: exactly their bytes, a call for each.
  const Reads rows = cost({100, 4096}, {{0, 1024}, {100, 1024}});
  EXPECT_LT(rows.bytes, 100 * 1024 * 4 + kSlack);
  EXPECT_LE(rows.calls, 100 + own.calls + 4);
  // A narrow column: gaps are read along, in few calls.
  const Reads column = cost({100'000, 8}, {{0, 3}, {100'000, 1}});
  EXPECT_LE(column.bytes, 100'000 * 8 * 4 + kSlack);
  EXPECT_LE(column.calls, 4 + own.calls + 4);
}

TEST_F(FileBlockTest, AFailedReadIsTheResult) {
  const InputFile file = file_of(std::vector<float>(64 * 2048), 0);
  const ArraySlice slice{{0, 0}, {64, 8}};
  std::vector<std::byte> block(64 * 8 * 4);
  int calls = 0;
  set_fault_handler([&](std::string_view at) { return at == "file.read" && ++calls == 5 ? EIO : 0; });
  EXPECT_EQ(read_file_block(file, 0, {64, 2048}, slice, 4, block).error().code(), ErrorCode::io);
  EXPECT_EQ(calls, 5);
  set_fault_handler({});
  std::filesystem::resize_file(path("array"), 1000);
  EXPECT_EQ(read_file_block(file, 0, {64, 2048}, slice, 4, block).error().code(), ErrorCode::damaged);
}

TEST_F(FileBlockTest, BlocksMustLieWithinTheTensor) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  SafetensorsWriter writer = SafetensorsWriter::create(path("w"), {{"w", {DType::u8, {2, 3}}}}).value();
  writer.write(std::vector<std::byte>(6)).value();
  writer.finish().value();
  const SafetensorsFile file = SafetensorsFile::open(path("w")).value();
  EXPECT_TRUE(file.read_block("w", {{2, 3}, {0, 0}}).ok());
  const std::vector<ArraySlice> wrong = {{{0}, {2}},          {{0, 0, 0}, {1, 1, 1}},   {{0, -1}, {1, 1}},
                                         {{0, 0}, {-1, 1}},   {{0, 1}, {1, 3}},         {{3, 0}, {0, 0}},
                                         {{1, 0}, {kMax, 3}}, {{kMax, 0}, {kMax, 1}},   {{0, kMax}, {1, kMax}},
                                         {{0, 0}, {1, kMax}}, {{-kMax - 1, 0}, {2, 3}}, {{0, 0}, {kMax, kMax}}};
  for (const ArraySlice& slice : wrong) {
    EXPECT_EQ(file.read_block("w", slice).error().code(), ErrorCode::invalid_argument)
        << to_string(slice.offset) << to_string(slice.size);
  }
}

}  // namespace
}  // namespace tenon
