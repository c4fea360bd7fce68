#include "tenon/trainer/summary_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "tenon/base/fault.h"
#include "tenon/base/text.h"
#include "tenon/trainer/summary_jsonl.h"
#include "tenon/trainer/summary_tensorboard.h"

namespace tenon {
namespace {

using testing::ElementsAre;

class SummaryTest : public testing::Test {
 protected:
  SummaryTest() : dir_(testing::TempDir() + "tenon_summary_" + random_suffix()) { make_dirs(dir_).value(); }
  ~SummaryTest() override { remove_tree(dir_).value(); }
  std::string path(const std::string& name) const { return join_path(dir_, name); }
  std::vector<int64_t> jsonl_steps() const {
    std::vector<int64_t> steps;
    for (const std::string& line : split(read_file(path("log.jsonl")).value(), '\n')) {
      if (!line.empty()) steps.push_back(nlohmann::json::parse(line).at("step").get<int64_t>());
    }
    return steps;
  }
  std::unique_ptr<JsonlWriter> jsonl(int64_t first_step) const {
    JsonlWriter::Config config;
    config.file = "log.jsonl";
    auto writer = std::make_unique<JsonlWriter>(config);
    writer->open(dir_, first_step).value();
    return writer;
  }
  std::unique_ptr<TensorBoardWriter> tensorboard(int64_t first_step) const {
    auto writer = std::make_unique<TensorBoardWriter>(TensorBoardWriter::Config{});
    writer->open(dir_, first_step).value();
    return writer;
  }
  std::string dir_;
};

TEST_F(SummaryTest, JsonlLines) {
  const auto writer = jsonl(0);
  const double infinity = std::numeric_limits<double>::infinity();
  writer->write(10, {{"train/loss", 0.1}, {"a \"b\"\n", 3}, {"n", std::nan("")}, {"i", -infinity}}).value();
  const std::string text = read_file(path("log.jsonl")).value();
  EXPECT_EQ(text.back(), '\n');
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json.at("step"), 10);
  EXPECT_GT(json.at("time").get<double>(), 1.6e9);
  EXPECT_EQ(json.at("train/loss").get<double>(), 0.1);
  EXPECT_EQ(json.at("a \"b\"\n"), 3.0);
  EXPECT_EQ(json.at("n"), "nan");
  EXPECT_EQ(json.at("i"), "-inf");
}

TEST_F(SummaryTest, JsonlGoesOnWhereTheRunResumes) {
  {
    const auto writer = jsonl(0);
    for (const int64_t step : {1, 2, 3, 4}) writer->write(step, {{"x", 1}}).value();
  }
  OutputFile::append(path("log.jsonl")).value().write("{\"step\":5,\"ti").value();
  const auto writer = jsonl(3);
  EXPECT_THAT(jsonl_steps(), ElementsAre(1, 2));
  writer->write(3, {{"x", 2}}).value();
  EXPECT_THAT(jsonl_steps(), ElementsAre(1, 2, 3));
  EXPECT_EQ(JsonlWriter(JsonlWriter::Config{}).open(path("none"), 0).error().code(), ErrorCode::not_found);
}

TEST_F(SummaryTest, AFailedWriteSpoilsNoOtherLine) {
  const auto writer = jsonl(0);
  writer->write(1, {}).value();
  set_fault_handler([](std::string_view) { return ENOSPC; });
  EXPECT_EQ(writer->write(2, {}).error().code(), ErrorCode::no_space);
  set_fault_handler({});
  OutputFile::append(path("log.jsonl")).value().write("{\"st").value();  // what a full disk may leave
  writer->write(3, {}).value();
  writer->write(4, {}).value();
  EXPECT_THAT(split(read_file(path("log.jsonl")).value(), '\n').size(), 5u);
  (void)jsonl(9);
  EXPECT_THAT(jsonl_steps(), ElementsAre(1, 3, 4));
}

// The TFRecord and protocol buffer formats once more, written to read: no code is shared with the writer.
uint32_t slow_masked_crc(const std::string& bytes) {
  uint32_t crc = 0xffffffff;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? (crc >> 1) ^ 0x82f63b78 : crc >> 1;
  }
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8;
}
template <class T>
T take(std::string& from) {
  T value;
  EXPECT_GE(from.size(), sizeof(T));
  std::memcpy(&value, from.data(), sizeof(T));
  from.erase(0, sizeof(T));
  return value;
}
std::string take_bytes(std::string& from, size_t count) {
  EXPECT_GE(from.size(), count);
  const std::string out = from.substr(0, count);
  from.erase(0, count);
  return out;
}
uint64_t take_varint(std::string& from) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = take<uint8_t>(from);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
}

struct ReadEvent {
  double time = 0;
  int64_t step = 0;
  std::string version;
  std::vector<std::pair<std::string, float>> values;
  int64_t session = 0;
};

std::pair<std::string, float> read_value(std::string bytes) {
  std::pair<std::string, float> value;
  while (!bytes.empty()) {
    const uint64_t key = take_varint(bytes);
    if (key == 0x0a) {
      value.first = take_bytes(bytes, take_varint(bytes));
    } else {
      EXPECT_EQ(key, 0x15u);
      value.second = take<float>(bytes);
    }
  }
  return value;
}

ReadEvent read_event(std::string bytes) {
  ReadEvent event;
  while (!bytes.empty()) {
    const uint64_t key = take_varint(bytes);
    if (key == 0x09) {
      event.time = take<double>(bytes);
    } else if (key == 0x10) {
      event.step = static_cast<int64_t>(take_varint(bytes));
    } else {
      std::string inner = take_bytes(bytes, take_varint(bytes));
      if (key == 0x1a) {
        event.version = inner;
      } else if (key == 0x2a) {
        while (!inner.empty()) {
          EXPECT_EQ(take_varint(inner), 0x0au);
          event.values.push_back(read_value(take_bytes(inner, take_varint(inner))));
        }
      } else {
        EXPECT_EQ(key, 0x3au);
        EXPECT_EQ(take_varint(inner), 0x08u);
        event.session = static_cast<int64_t>(take_varint(inner));
      }
    }
  }
  return event;
}

std::vector<ReadEvent> read_events(std::string file) {
  std::vector<ReadEvent> events;
  while (!file.empty()) {
    const std::string prefix = file.substr(0, 8);
    const auto length = take<uint64_t>(file);
    EXPECT_EQ(take<uint32_t>(file), slow_masked_crc(prefix));
    const std::string event = take_bytes(file, length);
    EXPECT_EQ(take<uint32_t>(file), slow_masked_crc(event));
    events.push_back(read_event(event));
  }
  return events;
}

// TensorBoard reads them in this order, and takes what comes later for a restart.
TEST_F(SummaryTest, NamesOfTensorBoardFilesAreInTheOrderOfTheirRuns) {
  std::string before;
  for (int i = 0; i < 20; ++i) {
    const std::string path = tensorboard(1)->path();
    EXPECT_LT(before, path);
    before = path;
  }
}

TEST_F(SummaryTest, TensorBoardFileReadsBack) {
  const auto writer = tensorboard(301);
  writer->write(int64_t{1} << 40, {{"train/loss", 2.25}, {std::string(300, 'n'), std::nan("")}}).value();
  writer->write(302, {}).value();
  EXPECT_NE(writer->path().find("/events.out.tfevents."), std::string::npos);
  const std::vector<ReadEvent> events = read_events(read_file(writer->path()).value());
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].version, "brain.Event:2");
  EXPECT_GT(events[0].time, 1.6e9);
  EXPECT_EQ(events[1].step, 301);
  EXPECT_EQ(events[1].session, 1);
  EXPECT_EQ(events[2].step, int64_t{1} << 40);
  ASSERT_EQ(events[2].values.size(), 2u);
  EXPECT_EQ(events[2].values[1].first, "train/loss");
  EXPECT_EQ(events[2].values[1].second, 2.25f);
  EXPECT_EQ(events[2].values[0].first, std::string(300, 'n'));
  EXPECT_TRUE(std::isnan(events[2].values[0].second));
  EXPECT_TRUE(events[3].values.empty());
}

TEST(Histogram, CountsWhatIsFinite) {
  const Histogram h = make_histogram({1, 2, 2.5, 3, 5, NAN, INFINITY}, 4);
  EXPECT_EQ(h.count, 5);
  EXPECT_EQ(h.min, 1);
  EXPECT_EQ(h.max, 5);
  EXPECT_EQ(h.sum, 13.5);
  EXPECT_EQ(h.sum_of_squares, 1 + 4 + 6.25 + 9 + 25);
  EXPECT_THAT(h.limits, ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(h.counts, ElementsAre(2, 2, 0, 1));
  EXPECT_THAT(make_histogram({7, 7}).counts, ElementsAre(2));
  EXPECT_EQ(make_histogram({NAN}).count, 0);
}

// Bytes of the messages as protoc's text format describes them, put together by hand.
TEST_F(SummaryTest, HistogramsAndTexts) {
  const auto writer = tensorboard(0);
  writer->write_histogram(3, "w", make_histogram({1, 3}, 2)).value();
  writer->write_text(4, "config", "a = 1").value();
  const std::string file = read_file(writer->path()).value();
  const auto number = [](double value) {
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &value, 8);
    return bytes;
  };
  const std::string histogram = "\x09" + number(1) + "\x11" + number(3) + "\x19" + number(2) + "\x21" + number(4) +
                                "\x29" + number(10) + "\x32\x10" + number(2) + number(3) + "\x3a\x10" + number(1) +
                                number(1);
  EXPECT_NE(file.find("\x0a\x01w\x2a" + std::string(1, static_cast<char>(histogram.size())) + histogram),
            std::string::npos);
  const std::string tensor = std::string("\x08\x07\x12\0\x42\x05", 6) + "a = 1";
  EXPECT_NE(file.find("\x0a\x06"
                      "config\x42" +
                      std::string(1, static_cast<char>(tensor.size())) + tensor + "\x4a\x08\x0a\x06\x0a\x04text"),
            std::string::npos);
}

TEST_F(SummaryTest, EachTensorBoardRunHasItsFile) {
  (void)tensorboard(0);
  (void)tensorboard(0);
  EXPECT_EQ(list_dir(path("tensorboard")).value().size(), 2u);
  write_file_atomic(path("file"), "").value();
  EXPECT_EQ(TensorBoardWriter(TensorBoardWriter::Config{}).open(path("file"), 0).error().code(), ErrorCode::io);
}

}  // namespace
}  // namespace tenon
