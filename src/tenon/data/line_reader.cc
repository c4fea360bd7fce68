#include "tenon/data/line_reader.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <new>
#include <span>

#include "tenon/base/error.h"
#include "tenon/base/text.h"

namespace tenon {
namespace {

constexpr size_t kChunk = size_t{1} << 18;

bool is_packed(const InputFile& file) {
  std::array<unsigned char, 2> start{};
  if (file.size() < start.size()) return false;
  file.read(0, std::as_writable_bytes(std::span(start))).value();
  return start[0] == 0x1f && start[1] == 0x8b;
}

}  // namespace

void LineReader::End::operator()(z_stream_s* stream) const {
  inflateEnd(stream);
  delete stream;  // NOLINT: an owner's deleter
}

LineReader::LineReader(const std::string& path, uint64_t max_line_bytes)
    : max_line_bytes_(max_line_bytes), file_(InputFile::open(path).value()), buffer_(kChunk, '\0') {
  if (is_packed(file_)) {
    stream_.reset(new z_stream{});
    constexpr int kGzip = 16 + MAX_WBITS;
    if (inflateInit2(stream_.get(), kGzip) != Z_OK) throw std::bad_alloc();
  } else if (path.ends_with(".gz") && file_.size() > 0) {
    throw Error(ErrorCode::damaged, "not a gzip file").at(path).hint("leave .gz out of its name if it isn't packed");
  }
  fill();
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
        .at(file_.path())
        .expected(fmt::format("at most {}", format_bytes(max_line_bytes_)))
        .hint("cut it into several");
  }
  return out;
}

bool LineReader::fill() {
  at_ = 0;
  end_ = stream_ ? unpack() : read_plain();
  return end_ > 0;
}

void LineReader::read(std::string& out, size_t size) {
  out.resize(std::min<uint64_t>(size, file_.size() - read_));
  file_.read(read_, std::as_writable_bytes(std::span(out))).value();
  read_ += out.size();
}

size_t LineReader::read_plain() {
  read(buffer_, kChunk);
  return buffer_.size();
}

size_t LineReader::unpack() {
  z_stream& stream = *stream_;
  buffer_.resize(kChunk);
  for (stream.avail_out = kChunk; stream.avail_out == kChunk;) {
    if (stream.avail_in == 0) {
      read(packed_, kChunk);
      stream.next_in = reinterpret_cast<Bytef*>(packed_.data());
      stream.avail_in = static_cast<uInt>(packed_.size());
    }
    if (stream.avail_in == 0 && in_part_) throw cut_or_changed("the file ends");
    if (stream.avail_in == 0) return 0;
    if (!in_part_ && *stream.next_in != 0x1f) throw cut_or_changed("something else follows");
    if (!in_part_) inflateReset(&stream);
    stream.next_out = reinterpret_cast<Bytef*>(buffer_.data());
    const int code = inflate(&stream, Z_NO_FLUSH);
    if (code != Z_OK && code != Z_STREAM_END) {
      throw cut_or_changed("the file can't be unpacked").got(stream.msg != nullptr ? stream.msg : "no reason");
    }
    in_part_ = code != Z_STREAM_END;
  }
  return kChunk - stream.avail_out;
}

Error LineReader::cut_or_changed(const std::string& what) const {
  return Error(ErrorCode::damaged, fmt::format("{} behind byte {} of its text", what, offset_))
      .at(file_.path())
      .hint("get it again: it is cut or changed");
}

}  // namespace tenon
