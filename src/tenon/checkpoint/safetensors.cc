#include "tenon/checkpoint/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "tenon/base/hash.h"
#include "tenon/base/text.h"
#include "tenon/checkpoint/file_block.h"

namespace tenon {
namespace {

Result<std::string> read_header(const InputFile& file) {
  std::array<std::byte, kSafetensorsPrefix> prefix;
  if (const Status read = file.read(0, prefix); !read.ok()) return read.error();
  uint64_t length = 0;
  for (size_t i = 0; i < prefix.size(); ++i) length |= std::to_integer<uint64_t>(prefix[i]) << (8 * i);
  if (length > kMaxSafetensorsHeader || length > file.size() - kSafetensorsPrefix) {
    return Error(ErrorCode::damaged, "the header is longer than it can be")
        .at(file.path())
        .got(fmt::format("{} bytes", length))
        .expected(fmt::format("at most {}", std::min(kMaxSafetensorsHeader, file.size() - kSafetensorsPrefix)));
  }
  std::string header(length, '\0');
  const Status read = file.read(kSafetensorsPrefix, std::as_writable_bytes(std::span(header)));
  if (!read.ok()) return read.error();
  return header;
}

bool lies_within(const ArraySlice& slice, const Dims& dims) {
  if (slice.offset.size() != dims.size() || slice.size.size() != dims.size()) return false;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t offset = slice.offset[i], size = slice.size[i];
    if (offset < 0 || size < 0 || offset > dims[i] || size > dims[i] - offset) return false;
  }
  return true;
}

}  // namespace

Result<SafetensorsFile> SafetensorsFile::open(const std::string& path) {
  Result<InputFile> input = InputFile::open(path);
  if (!input.ok()) return input.error();
  const Result<std::string> text = read_header(*input);
  if (!text.ok()) return text.error();
  Result<SafetensorsHeader> header = parse_safetensors_header(*text, input->size());
  if (!header.ok()) return Error(header.error()).at(path);
  SafetensorsFile file;
  file.file_ = std::move(*input);
  file.header_ = std::move(*header);
  for (size_t i = 0; i < file.header_.tensors.size(); ++i) file.index_[file.header_.tensors[i].name] = i;
  return file;
}

Result<TensorInfo> SafetensorsFile::find(std::string_view name) const {
  const auto found = index_.find(name);
  if (found != index_.end()) return header_.tensors[found->second];
  std::vector<std::string> names;
  for (const auto& [other, place] : index_) names.push_back(other);
  return Error(ErrorCode::unknown_name, "no tensor " + quote_text(name)).at(path()).hint(did_you_mean(name, names));
}

Result<Literal> SafetensorsFile::read(std::string_view name) const {
  const Result<TensorInfo> tensor = find(name);
  if (!tensor.ok()) return tensor.error();
  const Dims& dims = (*tensor).type.dims;
  return read_block(name, {Dims(dims.size(), 0), dims});
}

Result<Literal> SafetensorsFile::read_block(std::string_view name, const ArraySlice& slice) const {
  const Result<TensorInfo> found = find(name);
  if (!found.ok()) return found.error();
  const TensorInfo& tensor = *found;
  if (!lies_within(slice, tensor.type.dims)) {
    return Error(ErrorCode::invalid_argument, "no such block in tensor " + quote_text(name))
        .at(path())
        .got(fmt::format("{} from {}", to_string(slice.size), to_string(slice.offset)))
        .expected("part of " + to_string(tensor.type));
  }
  Literal block(TensorType{tensor.type.dtype, slice.size});
  const Status read =
      read_file_block(file_, tensor.begin, tensor.type.dims, slice, byte_size(tensor.type.dtype), block.bytes());
  if (!read.ok()) return read.error();
  if (tensor.type.dtype == DType::i1) {
    const auto bytes = std::as_const(block).bytes();
    if (std::any_of(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; })) {
      return Error(ErrorCode::damaged, "tensor " + quote_text(name) + ": a truth value that is neither 0 nor 1")
          .at(path());
    }
  }
  return block;
}

Result<SafetensorsWriter> SafetensorsWriter::create(const std::string& path,
                                                    std::vector<std::pair<std::string, TensorType>> tensors,
                                                    std::map<std::string, std::string> metadata) {
  SafetensorsWriter writer;
  writer.header_ = lay_out_safetensors(std::move(tensors), std::move(metadata));
  const std::string text = format_safetensors_header(writer.header_);
  writer.total_ = writer.header_.tensors.empty() ? text.size() : writer.header_.tensors.back().end;
  Result<OutputFile> file = OutputFile::create(path);
  if (!file.ok()) return file.error();
  writer.file_ = std::move(*file);
  if (const Status written = writer.write(as_bytes(text)); !written.ok()) return written.error();
  return writer;
}

Status SafetensorsWriter::write(std::span<const std::byte> bytes) {
  check(bytes.size() <= total_ - written_, "no more bytes than the tensors of the file have");
  written_ += bytes.size();
  crc_ = crc32c(bytes, crc_);
  return file_.write(bytes);
}

Status SafetensorsWriter::finish() {
  check(written_ == total_, "all tensors of the file are written");
  return file_.finish();
}

}  // namespace tenon
