#include "tenon/data/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "tenon/base/text.h"

namespace tenon {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

// Goes through the text of a header: a dictionary as Python writes it.
class HeaderText {
 public:
  HeaderText(std::string_view text, size_t offset) : text_(text), offset_(offset) {}

  Error error(std::string_view expected) const {
    return Error(ErrorCode::damaged, fmt::format("byte {} of the header of an .npy file", offset_ + at_))
        .got(at_ < text_.size() ? quote_text(text_.substr(at_, 16)) : "its end")
        .expected(std::string(expected));
  }
  bool take(std::string_view token) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  // A string in quotes, which ends before the next one of its kind.
  std::optional<std::string_view> string() {
    skip_spaces();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return std::nullopt;
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view out = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return out;
  }
  std::optional<int64_t> number() {
    skip_spaces();
    const size_t begin = at_;
    int64_t out = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      if (__builtin_mul_overflow(out, 10, &out) || __builtin_add_overflow(out, text_[at_] - '0', &out)) return {};
    }
    return at_ > begin ? std::optional(out) : std::nullopt;
  }
  bool at_end() {
    skip_spaces();
    return at_ == text_.size();
  }

 private:
  void skip_spaces() { at_ = std::min(text_.find_first_not_of(" \n", at_), text_.size()); }
  std::string_view text_;
  size_t offset_, at_ = 0;
};

Error unsupported(std::string what) {
  return Error(ErrorCode::unsupported, std::move(what))
      .hint("write it again with numpy.save(…, array.astype('uint8'))");
}

// "|u1", "<i8".
Status parse_type(std::string_view text, NpyHeader& out) {
  const bool known = text.size() == 3 && std::string_view("|<").find(text[0]) != std::string_view::npos &&
                     std::string_view("uifb").find(text[1]) != std::string_view::npos &&
                     std::string_view("1248").find(text[2]) != std::string_view::npos;
  if (!known) return unsupported("an .npy file of elements that aren't read").got(quote_text(text));
  out.kind = text[1];
  out.item_bytes = text[2] - '0';
  return {};
}

// "(3, 4)", "(3,)", "()".
Status parse_shape(HeaderText& text, NpyHeader& out) {
  if (!text.take("(")) return text.error("the shape, in parentheses");
  while (!text.take(")")) {
    const std::optional<int64_t> size = text.number();
    if (!size || out.shape.size() == 32) return text.error("a size, and at most 32 of them");
    out.shape.push_back(*size);
    if (text.take(",")) continue;
    if (text.take(")")) return {};
    return text.error("',' or ')'");
  }
  return {};
}

Status parse_dictionary(HeaderText& text, NpyHeader& out) {
  constexpr std::string_view kKeys = "'descr', 'fortran_order' and 'shape', once each";
  bool has_type = false, has_order = false, has_shape = false;
  if (!text.take("{")) return text.error("'{'");
  while (!text.take("}")) {
    const std::optional<std::string_view> key = text.string();
    bool* const seen = !key                      ? nullptr
                       : *key == "descr"         ? &has_type
                       : *key == "fortran_order" ? &has_order
                       : *key == "shape"         ? &has_shape
                                                 : nullptr;
    if (seen == nullptr || *seen || !text.take(":")) return text.error(kKeys);
    *seen = true;
    Status value;
    if (seen == &has_type) {
      const std::optional<std::string_view> type = text.string();
      value = type             ? parse_type(*type, out)
              : text.take("[") ? unsupported("an .npy file of records")
                               : text.error("a type, in quotes");
    } else if (seen == &has_shape) {
      value = parse_shape(text, out);
    } else if (text.take("True")) {
      value = unsupported("an .npy file whose columns are contiguous");
    } else if (!text.take("False")) {
      value = text.error("True or False");
    }
    if (!value.ok()) return value;
    if (text.take(",")) continue;
    if (text.take("}")) break;
    return text.error("',' or '}'");
  }
  if (!has_type || !has_order || !has_shape || !text.at_end()) return text.error(kKeys);
  return {};
}

template <class T>
T load(std::span<const std::byte> bytes, size_t offset) {
  T out;
  std::memcpy(&out, bytes.data() + offset, sizeof(T));
  return out;
}

Error not_npy(size_t offset, std::string_view expected) {
  return Error(ErrorCode::damaged, "not an .npy file")
      .got(fmt::format("something else at byte {}", offset))
      .expected(std::string(expected));
}

// Where the text of the header is: its offset and length.
Result<std::pair<size_t, size_t>> find_header(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic)) return not_npy(0, "numpy's magic bytes");
  if (bytes.size() < 10) return not_npy(bytes.size(), "a version and the header's length");
  const auto major = load<uint8_t>(bytes, 6);
  if (major < 1 || major > 3) return not_npy(6, "version 1, 2 or 3");
  if (major > 1 && bytes.size() < 12) return not_npy(bytes.size(), "the header's length");
  const size_t begin = major == 1 ? 10 : 12;
  const size_t length = major == 1 ? load<uint16_t>(bytes, 8) : load<uint32_t>(bytes, 8);
  if (length > bytes.size() - begin) return not_npy(bytes.size(), fmt::format("a header of {} bytes", length));
  return std::pair(begin, length);
}

}  // namespace

std::string NpyHeader::type_name() const {
  const char* const name = kind == 'u' ? "uint" : kind == 'i' ? "int" : kind == 'f' ? "float" : "bool";
  return kind == 'b' ? name : fmt::format("{}{}", name, 8 * item_bytes);
}

Result<NpyHeader> parse_npy_header(std::span<const std::byte> bytes) {
  const Result<std::pair<size_t, size_t>> place = find_header(bytes);
  if (!place.ok()) return place.error();
  const auto [begin, length] = *place;
  HeaderText text({reinterpret_cast<const char*>(bytes.data()) + begin, length}, begin);
  NpyHeader out;
  out.data_begin = begin + length;
  if (const Status parsed = parse_dictionary(text, out); !parsed.ok()) return parsed.error();
  int64_t size = out.item_bytes;
  bool fits = true;
  for (const int64_t dim : out.shape) fits = fits && !__builtin_mul_overflow(size, dim, &size);
  if (fits && static_cast<uint64_t>(size) == bytes.size() - out.data_begin) return out;
  return Error(ErrorCode::damaged, "the array of an .npy file isn't all of the rest of it")
      .got(fmt::format("{} bytes from byte {} on", bytes.size() - out.data_begin, out.data_begin))
      .expected(fmt::format("{} of {}", to_string(out.shape), out.type_name()));
}

Result<NpyFile> NpyFile::open(const std::string& path) {
  Result<MappedFile> file = MappedFile::open(path);
  if (!file.ok()) return file.error();
  Result<NpyHeader> header = parse_npy_header((*file).bytes());
  if (header.ok()) return NpyFile(std::move(*file), std::move(*header));
  Error error = header.error();
  return error.at(path);
}

int64_t NpyFile::integer(int64_t i) const {
  check(header_.kind != 'f', "an array of integers");
  const size_t width = static_cast<size_t>(header_.item_bytes);
  uint64_t bits = 0;
  std::memcpy(&bits, data().data() + static_cast<size_t>(i) * width, width);
  const int unused = 64 - 8 * static_cast<int>(width);
  if (header_.kind != 'i') return static_cast<int64_t>(bits);
  return static_cast<int64_t>(bits << unused) >> unused;
}

}  // namespace tenon
