// Arrays in files of numpy (.npy, NEP 1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tenon/base/mapped_file.h"
#include "tenon/base/shape.h"

namespace tenon {

// What stands in front of an array.
struct NpyHeader {
  // 'u', 'i', 'f' or 'b': unsigned, signed, float, boolean; little-endian.
  char kind = 'u';
  int64_t item_bytes = 1;
  Dims shape;
  size_t data_begin = 0;  // offset of the array, which is row-major

  // "uint8", "float32".
  std::string type_name() const;
};
// `bytes`: the whole file. `damaged`, with the offset, when it is no such file or the array isn't all of the rest;
// `unsupported` for a type or an order we don't read.
Result<NpyHeader> parse_npy_header(std::span<const std::byte> bytes);

// A file, mapped.
class NpyFile {
 public:
  static Result<NpyFile> open(const std::string& path);
  const std::string& path() const { return file_.path(); }
  const NpyHeader& header() const { return header_; }
  std::span<const std::byte> data() const { return file_.bytes().subspan(header_.data_begin); }
  // Element `i` in row-major order, of an array of integers of up to 8 bytes; unsigned ones of 8 keep their bits.
  int64_t integer(int64_t i) const;

 private:
  NpyFile(MappedFile file, NpyHeader header) : file_(std::move(file)), header_(std::move(header)) {}
  MappedFile file_;
  NpyHeader header_;
};

}  // namespace tenon
