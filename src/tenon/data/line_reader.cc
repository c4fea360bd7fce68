#include "tenon/data/line_reader.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

#include "tenon/base/error.h"
#include "tenon/base/file.h"
#include "tenon/base/text.h"

namespace tenon {

void LineReader::Close::operator()(gzFile_s* file) const { gzclose(file); }

LineReader::LineReader(const std::string& path, uint64_t max_line_bytes)
    : path_(path), max_line_bytes_(max_line_bytes), buffer_(size_t{1} << 18, '\0') {
  file_.reset(gzopen(path.c_str(), "rb"));
  if (file_ == nullptr) throw Error(ErrorCode::io, "the file can't be opened").at(path);
  fill();
  if (path.ends_with(".gz") && end_ > 0 && gzdirect(file_.get()) != 0) {
    throw Error(ErrorCode::damaged, "not a gzip file").at(path).hint("leave .gz out of its name if it isn't packed");
  }
}

std::optional<FileLine> LineReader::next() {
  if (at_ == end_ && !fill()) return std::nullopt;
  FileLine out{{}, offset_, ++line_};
  for (bool ended = false; !ended && (at_ < end_ || fill());) {
    const auto begin = buffer_.begin() + static_cast<int64_t>(at_), end = buffer_.begin() + static_cast<int64_t>(end_);
    const auto newline = std::find(begin, end, '\n');
    ended = newline != end;
    out.bytes.append(begin, newline);
    const size_t taken = static_cast<size_t>(newline - begin) + (ended ? 1 : 0);
    at_ += taken;
    offset_ += taken;
    if (out.bytes.size() <= max_line_bytes_) continue;
    throw Error(ErrorCode::unsupported, fmt::format("the line at byte {} is too long", out.offset))
        .at(path_)
        .expected(fmt::format("at most {}", format_bytes(max_line_bytes_)))
        .hint("cut it into several");
  }
  return out;
}

uint64_t LineReader::bytes_read() const { return static_cast<uint64_t>(std::max<z_off_t>(gzoffset(file_.get()), 0)); }

bool LineReader::fill() {
  const int count = gzread(file_.get(), buffer_.data(), static_cast<unsigned>(buffer_.size()));
  int code = Z_OK;
  const char* message = gzerror(file_.get(), &code);
  if (count < 0 || code == Z_BUF_ERROR) {
    throw Error(ErrorCode::damaged, fmt::format("the file can't be unpacked behind byte {} of its text", offset_))
        .at(path_)
        .got(quote_text(message))
        .hint("get it again: it is cut or changed");
  }
  // What follows a packed part and isn't one ends the file for the library, without an error.
  if (count == 0 && gzdirect(file_.get()) == 0 && bytes_read() < file_size(path_).value()) {
    throw Error(ErrorCode::damaged, fmt::format("something else follows behind byte {} of its text", offset_))
        .at(path_)
        .hint("get it again: it is cut or changed");
  }
  at_ = 0;
  end_ = static_cast<size_t>(count);
  return count > 0;
}

}  // namespace tenon
