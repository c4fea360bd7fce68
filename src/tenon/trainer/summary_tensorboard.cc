#include "tenon/trainer/summary_tensorboard.h"

#include <fmt/format.h>

#include <bit>

#include "tenon/base/clock.h"
#include "tenon/base/hash.h"

namespace tenon {
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

Result<TensorBoardWriter> TensorBoardWriter::open(const std::string& dir, int64_t first_step) {
  if (const Status made = make_dirs(dir); !made.ok()) return made.error();
  // TensorBoard reads the files of a directory in the order of their names: by time.
  const std::string name = fmt::format("events.out.tfevents.{:010.0f}.tenon.{}", unix_seconds(), random_suffix());
  Result<OutputFile> file = OutputFile::create(join_path(dir, name));
  if (!file.ok()) return file.error();
  TensorBoardWriter writer;
  writer.file_ = std::move(*file);
  Status status = writer.add_event(event(0, bytes_field(3, "brain.Event:2")));
  // message SessionLog { enum SessionStatus { START = 1; } SessionStatus status = 1; }
  const std::string start = varint_field(1, 1);
  if (status.ok()) status = writer.add_event(event(first_step, bytes_field(7, start)));
  if (!status.ok()) return status.error();
  return writer;
}

Status TensorBoardWriter::write(int64_t step, const Scalars& scalars) {
  // message Summary { message Value { string tag = 1; float simple_value = 2; } repeated Value value = 1; }
  std::string summary;
  for (const auto& [name, value] : scalars) summary += bytes_field(1, bytes_field(1, name) + float_field(2, value));
  return add_event(event(step, bytes_field(5, summary)));
}

Status TensorBoardWriter::add_event(const std::string& event) {
  const std::string length = little_endian(event.size(), 8);
  return file_.write(length + masked_crc(length) + event + masked_crc(event));
}

}  // namespace tenon
