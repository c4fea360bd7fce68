// Reading and writing safetensors files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/base/file.h"
#include "tenon/base/literal.h"
#include "tenon/base/mesh.h"
#include "tenon/checkpoint/safetensors_header.h"

namespace tenon {

// An open file. Reading is safe from several threads.
class SafetensorsFile {
 public:
  // Reads and checks the header; the file is not trusted.
  static Result<SafetensorsFile> open(const std::string& path);

  const std::string& path() const { return file_.path(); }
  // In the order of their bytes.
  const std::vector<TensorInfo>& tensors() const { return header_.tensors; }
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }
  // `unknown_name`, with the nearest names, when there is no such tensor.
  Result<TensorInfo> find(std::string_view name) const;

  Result<Literal> read(std::string_view name) const;
  // Part of a tensor: reads no more than its bytes and gaps between them shorter than a page. `invalid_argument` when
  // it doesn't lie within the tensor.
  Result<Literal> read_block(std::string_view name, const ArraySlice& slice) const;

 private:
  InputFile file_;
  SafetensorsHeader header_;
  std::map<std::string, size_t, std::less<>> index_;
};

// A new file whose tensors are written one after another.
class SafetensorsWriter {
 public:
  // Fails when the file exists; throws `invalid_argument` on names that can't be written.
  static Result<SafetensorsWriter> create(const std::string& path,
                                          std::vector<std::pair<std::string, TensorType>> tensors,
                                          std::map<std::string, std::string> metadata = {});

  // The order in which `write` wants the bytes of all tensors.
  const std::vector<TensorInfo>& tensors() const { return header_.tensors; }
  // The next bytes; a tensor may come in several pieces.
  Status write(std::span<const std::byte> bytes);
  // Puts the file on disk. Throws `internal` when bytes are missing.
  Status finish();

  uint64_t bytes_written() const { return written_; }
  // CRC-32C of the bytes written so far, header included.
  uint32_t crc() const { return crc_; }

 private:
  OutputFile file_;
  SafetensorsHeader header_;
  uint64_t written_ = 0;
  uint64_t total_ = 0;
  uint32_t crc_ = 0;
};

}  // namespace tenon
