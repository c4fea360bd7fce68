#include "tenon/trainer/summary_tensorboard.h"

#include <fmt/format.h>

#include <bit>

#include "tenon/base/clock.h"
#include "tenon/base/hash.h"
#include "tenon/config/define.h"

namespace tenon {

TENON_MODULE(TensorBoardWriter, SummaryWriter, "an event file for TensorBoard",
             {"folder", "in the directory of the run"})

namespace {

// Protocol buffer fields: the key is the field's number and how it is coded.
enum WireType : uint64_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
std::string little_endian(uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
  return out;
}
std::string key(uint64_t number, WireType type) { return varint(number << 3 | type); }
std::string varint_field(uint64_t number, int64_t value) {
  return key(number, kVarint) + varint(static_cast<uint64_t>(value));
}
std::string double_field(uint64_t number, double value) {
  return key(number, kFixed64) + little_endian(std::bit_cast<uint64_t>(value), 8);
}
std::string float_field(uint64_t number, double value) {
  return key(number, kFixed32) + little_endian(std::bit_cast<uint32_t>(static_cast<float>(value)), 4);
}
std::string bytes_field(uint64_t number, const std::string& value) {
  return key(number, kLength) + varint(value.size()) + value;
}

// message Event { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5;
//                 SessionLog session_log = 7; }
std::string event(int64_t step, const std::string& what) {
  return double_field(1, unix_seconds()) + varint_field(2, step) + what;
}

// TFRecord's guard against checksums of data that holds checksums.
std::string masked_crc(const std::string& bytes) {
  return little_endian(std::rotr(crc32c(bytes), 15) + 0xa282ead8U, 4);
}

}  // namespace

Status TensorBoardWriter::open(const std::string& dir, int64_t first_step) {
  const std::string folder = join_path(dir, folder_);
  if (Status made = make_dirs(folder); !made.ok()) return made;
  // TensorBoard reads the files of a directory in the order of their names: by time, to the microsecond, since runs may
  // begin in the same second.
  const std::string name = fmt::format("events.out.tfevents.{:017.6f}.tenon.{}", unix_seconds(), random_suffix());
  Result<OutputFile> file = OutputFile::create(join_path(folder, name));
  if (!file.ok()) return file.error();
  file_ = std::move(*file);
  if (Status version = add_event(event(0, bytes_field(3, "brain.Event:2"))); !version.ok()) return version;
  // message SessionLog { enum SessionStatus { START = 1; } SessionStatus status = 1; }
  return add_event(event(first_step, bytes_field(7, varint_field(1, 1))));
}

Status TensorBoardWriter::write(int64_t step, const Scalars& scalars) {
  // message Summary { message Value { string tag = 1; float simple_value = 2; HistogramProto histo = 5;
  //                   TensorProto tensor = 8; SummaryMetadata metadata = 9; } repeated Value value = 1; }
  std::string summary;
  for (const auto& [name, value] : scalars) summary += bytes_field(1, bytes_field(1, name) + float_field(2, value));
  return add_event(event(step, bytes_field(5, summary)));
}

Status TensorBoardWriter::write_histogram(int64_t step, const std::string& name, const Histogram& h) {
  // message HistogramProto { double min = 1, max = 2, num = 3, sum = 4, sum_squares = 5;
  //                          repeated double bucket_limit = 6 [packed], bucket = 7 [packed]; }
  std::string limits, counts;
  for (const double limit : h.limits) limits += little_endian(std::bit_cast<uint64_t>(limit), 8);
  for (const double count : h.counts) counts += little_endian(std::bit_cast<uint64_t>(count), 8);
  const std::string proto = double_field(1, h.min) + double_field(2, h.max) + double_field(3, h.count) +
                            double_field(4, h.sum) + double_field(5, h.sum_of_squares) + bytes_field(6, limits) +
                            bytes_field(7, counts);
  return add_event(event(step, bytes_field(5, bytes_field(1, bytes_field(1, name) + bytes_field(5, proto)))));
}

Status TensorBoardWriter::write_text(int64_t step, const std::string& name, const std::string& text) {
  // message TensorProto { DataType dtype = 1; TensorShapeProto tensor_shape = 2; repeated bytes string_val = 8; }
  // message SummaryMetadata { message PluginData { string plugin_name = 1; } PluginData plugin_data = 1; }
  constexpr int64_t kString = 7;
  const std::string tensor = varint_field(1, kString) + bytes_field(2, "") + bytes_field(8, text);
  const std::string metadata = bytes_field(1, bytes_field(1, "text"));
  return add_event(event(
      step, bytes_field(5, bytes_field(1, bytes_field(1, name) + bytes_field(8, tensor) + bytes_field(9, metadata)))));
}

Status TensorBoardWriter::add_event(const std::string& event) {
  const std::string length = little_endian(event.size(), 8);
  return file_.write(length + masked_crc(length) + event + masked_crc(event));
}

}  // namespace tenon
