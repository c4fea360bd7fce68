// The lines of a file, unpacked where it is packed by gzip.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

struct gzFile_s;

namespace tenon {

struct FileLine {
  std::string bytes;    // without the line's end
  uint64_t offset = 0;  // of its first byte, in what a packed file unpacks to
  uint64_t number = 0;  // from 1
};

// For one thread.
class LineReader {
 public:
  // Throws `io`, and `damaged` for a .gz that is none.
  LineReader(const std::string& path, uint64_t max_line_bytes);
  // None behind the last. Throws `damaged` for a file that can't be unpacked, `unsupported` for a line longer than
  // max_line_bytes.
  std::optional<FileLine> next();
  // Whether there is nothing in it.
  bool empty() const { return offset_ == 0 && end_ == 0; }
  // Of the file as it is on disk.
  uint64_t bytes_read() const;

 private:
  struct Close {
    void operator()(gzFile_s* file) const;
  };
  bool fill();

  std::string path_;
  uint64_t max_line_bytes_;
  std::unique_ptr<gzFile_s, Close> file_;
  std::string buffer_;
  size_t at_ = 0, end_ = 0;
  uint64_t offset_ = 0, line_ = 0;
};

}  // namespace tenon
