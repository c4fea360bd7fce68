// The lines of a file, unpacked where it is packed by gzip.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tenon/base/file.h"

struct z_stream_s;

namespace tenon {

struct FileLine {
  std::string bytes;    // without the line's end
  uint64_t offset = 0;  // of its first byte, in what a packed file unpacks to
  uint64_t number = 0;  // from 1
};

// For one thread.
class LineReader {
 public:
  // Throws what the system refuses, and `damaged` for a .gz that is none.
  LineReader(const std::string& path, uint64_t max_line_bytes);
  // None behind the last. Throws `damaged` for a file that can't be unpacked, `unsupported` for a line longer than
  // max_line_bytes.
  std::optional<FileLine> next();
  // Whether there is nothing in it.
  bool empty() const { return offset_ == 0 && end_ == 0; }
  // Of the file as it is on disk.
  uint64_t bytes_read() const { return read_; }

 private:
  struct End {
    void operator()(z_stream_s* stream) const;
  };
  bool fill();
  // Into the buffer: how many bytes, 0 at the end.
  size_t read_plain();
  size_t unpack();
  // Of the file, the next bytes of `size` at most.
  void read(std::string& out, size_t size);
  Error cut_or_changed(const std::string& what) const;

  uint64_t max_line_bytes_;
  InputFile file_;
  uint64_t read_ = 0;                        // of the file
  std::unique_ptr<z_stream_s, End> stream_;  // empty: not packed
  std::string packed_;                       // what the stream reads from
  bool in_part_ = false;                     // a packed file is one part or several
  std::string buffer_;
  size_t at_ = 0, end_ = 0;
  uint64_t offset_ = 0, line_ = 0;
};

}  // namespace tenon
