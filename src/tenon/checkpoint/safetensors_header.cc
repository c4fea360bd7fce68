#include "tenon/checkpoint/safetensors_header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>

#include "tenon/base/text.h"

namespace tenon {
namespace {

using HeaderJson = nlohmann::json;

constexpr std::string_view kMetadata = "__metadata__";
constexpr size_t kMaxRank = 32;

// In the order of DType.
constexpr std::array<std::string_view, 13> kNames = {"BOOL",    "I8",      "I32",  "I64", "U8",  "U32", "U64",
                                                     "F8_E4M3", "F8_E5M2", "BF16", "F16", "F32", "F64"};
static_assert(kNames.size() == std::size(kAllDTypes));

std::optional<DType> dtype_of(std::string_view name) {
  for (const DType dtype : kAllDTypes) {
    if (kNames[static_cast<size_t>(dtype)] == name) return dtype;
  }
  return std::nullopt;
}

Error bad_tensor(const std::string& name, const std::string& why) {
  return Error(ErrorCode::damaged, fmt::format("tensor {}: {}", quote_text(name), why));
}

std::string dump(const HeaderJson& json) {
  try {
    return json.dump();
  } catch (const HeaderJson::exception&) {
    throw Error(ErrorCode::invalid_argument, "names and metadata of tensors must be UTF-8");
  }
}

// What the JSON says about a tensor, not believed yet.
struct Entry {
  std::string name;
  std::optional<std::string> dtype;
  std::optional<std::vector<uint64_t>> shape, offsets;
};

// Takes the JSON apart as it is read, so that nothing but the known structure is ever built, duplicates are seen, and
// nesting can't go deep.
class HeaderReader final : public nlohmann::json_sax<HeaderJson> {
 public:
  std::vector<Entry> entries;
  std::map<std::string, std::string> metadata;
  std::optional<Error> error;

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("true or false"); }
  bool number_integer(number_integer_t value) override { return unexpected(fmt::format("the number {}", value)); }
  bool number_float(number_float_t, const string_t& text) override { return unexpected("the number " + text); }
  bool binary(binary_t&) override { return unexpected("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ != Place::list) return unexpected(fmt::format("the number {}", value));
    if (list_->size() >= kMaxRank) return fail(bad_tensor(name_, fmt::format("more than {} numbers", kMaxRank)));
    list_->push_back(value);
    return true;
  }
  bool string(string_t& value) override {
    if (place_ == Place::metadata) {
      metadata[key_] = std::move(value);
      return true;
    }
    if (place_ != Place::tensor || key_ != "dtype") return unexpected("the string " + quote_text(value));
    entries.back().dtype = std::move(value);
    return true;
  }
  bool start_object(size_t) override {
    if (place_ == Place::outside) return enter(Place::top);
    if (place_ != Place::top) return unexpected("an object");
    if (name_ == kMetadata) return enter(Place::metadata);
    entries.push_back({name_, {}, {}, {}});
    return enter(Place::tensor);
  }
  bool key(string_t& value) override {
    const bool fresh = (place_ == Place::top ? names_ : keys_).insert(value).second;
    if (place_ == Place::top) name_ = value;
    key_ = std::move(value);
    return fresh || fail(bad_tensor(name_, "the key " + quote_text(key_) + " stands there twice"));
  }
  bool end_object() override { return enter(place_ == Place::top ? Place::outside : Place::top); }
  bool start_array(size_t) override {
    if (place_ != Place::tensor || (key_ != "shape" && key_ != "data_offsets")) return unexpected("an array");
    list_ = &(key_ == "shape" ? entries.back().shape : entries.back().offsets).emplace();
    place_ = Place::list;
    return true;
  }
  bool end_array() override {
    place_ = Place::tensor;
    return true;
  }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    return fail(Error(ErrorCode::damaged, fmt::format("the header is not JSON at byte {} of it", position)));
  }

 private:
  enum class Place { outside, top, metadata, tensor, list };

  bool enter(Place place) {
    place_ = place;
    keys_.clear();
    return true;
  }
  bool fail(Error what) {
    error = std::move(what);
    return false;
  }
  bool unexpected(const std::string& what) {
    if (place_ == Place::outside) return fail(Error(ErrorCode::damaged, "the header is not a JSON object"));
    return fail(bad_tensor(name_, fmt::format("{} where it can't be, behind the key {}", what, quote_text(key_))));
  }

  Place place_ = Place::outside;
  std::string name_, key_;
  std::set<std::string> names_, keys_;
  std::vector<uint64_t>* list_ = nullptr;
};

// Bytes of an array; none when that doesn't fit in 64 bits.
std::optional<uint64_t> checked_bytes(DType dtype, const std::vector<uint64_t>& shape) {
  uint64_t bytes = byte_size(dtype);
  for (const uint64_t dim : shape) {
    if (dim > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
    if (__builtin_mul_overflow(bytes, dim, &bytes)) return std::nullopt;
  }
  if (bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
  return bytes;
}

Result<TensorInfo> check_entry(const Entry& entry, uint64_t data_begin, uint64_t data_size) {
  if (!entry.dtype) return bad_tensor(entry.name, "no dtype");
  if (!entry.shape) return bad_tensor(entry.name, "no shape");
  if (!entry.offsets || entry.offsets->size() != 2) return bad_tensor(entry.name, "data_offsets are not two numbers");
  const std::optional<DType> dtype = dtype_of(*entry.dtype);
  if (!dtype) {
    return Error(ErrorCode::unsupported,
                 fmt::format("tensor {}: the element type {}", quote_text(entry.name), quote_text(*entry.dtype)))
        .expected(fmt::format("one of {}", fmt::join(kNames, ", ")));
  }
  const std::string shape = fmt::format("[{}]", fmt::join(*entry.shape, ","));
  const std::optional<uint64_t> bytes = checked_bytes(*dtype, *entry.shape);
  if (!bytes) return bad_tensor(entry.name, "the shape " + shape + " is too large");
  const uint64_t begin = (*entry.offsets)[0], end = (*entry.offsets)[1];
  const std::string place = fmt::format("data_offsets {} to {}", begin, end);
  if (begin > end) return bad_tensor(entry.name, place + " run backwards");
  if (end > data_size)
    return bad_tensor(entry.name, fmt::format("{} lie behind the end of the data, {}", place, data_size));
  if (end - begin != *bytes) {
    return bad_tensor(entry.name,
                      fmt::format("{} don't fit {}{}, which has {} bytes", place, *entry.dtype, shape, *bytes));
  }
  TensorInfo info{entry.name, {*dtype, {}}, data_begin + begin, data_begin + end};
  for (const uint64_t dim : *entry.shape) info.type.dims.push_back(static_cast<int64_t>(dim));
  return info;
}

Status check_cover(const std::vector<TensorInfo>& tensors, uint64_t data_begin, uint64_t file_size) {
  uint64_t covered = data_begin;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.begin != covered) {
      const auto* what = tensor.begin < covered ? "overlaps the tensor in front of it" : "has a gap in front of it";
      return bad_tensor(tensor.name, fmt::format("{} at byte {} of the file", what, tensor.begin));
    }
    covered = tensor.end;
  }
  if (covered == file_size) return {};
  return Error(ErrorCode::damaged, fmt::format("bytes that belong to no tensor from byte {} of the file on", covered));
}

}  // namespace

Result<SafetensorsHeader> parse_safetensors_header(std::string_view json, uint64_t file_size) {
  // The JSON reader takes a zero byte for the end: what follows would go unseen.
  if (const size_t zero = json.find('\0'); zero != std::string_view::npos) {
    return Error(ErrorCode::damaged, fmt::format("the header has a zero byte at byte {} of it", zero));
  }
  if (json.empty() || json.front() != '{') return Error(ErrorCode::damaged, "the header doesn't start with {");
  const uint64_t data_begin = kSafetensorsPrefix + json.size();
  if (file_size < data_begin) return Error(ErrorCode::damaged, "the file ends within the header");
  HeaderReader reader;
  if (!HeaderJson::sax_parse(json, &reader)) return *reader.error;
  SafetensorsHeader header;
  header.metadata = std::move(reader.metadata);
  for (const Entry& entry : reader.entries) {
    Result<TensorInfo> info = check_entry(entry, data_begin, file_size - data_begin);
    if (!info.ok()) return info.error();
    header.tensors.push_back(std::move(*info));
  }
  std::sort(header.tensors.begin(), header.tensors.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  if (const Status cover = check_cover(header.tensors, data_begin, file_size); !cover.ok()) return cover.error();
  return header;
}

SafetensorsHeader lay_out_safetensors(std::vector<std::pair<std::string, TensorType>> tensors,
                                      std::map<std::string, std::string> metadata) {
  std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) {
    const size_t a_size = byte_size(a.second.dtype), b_size = byte_size(b.second.dtype);
    return a_size != b_size ? a_size > b_size : a.first < b.first;
  });
  SafetensorsHeader header;
  header.metadata = std::move(metadata);
  std::set<std::string> names = {std::string(kMetadata)};
  for (auto& [name, type] : tensors) {
    if (!names.insert(name).second) {
      throw Error(ErrorCode::invalid_argument, "two tensors of one name, or a reserved name").got(quote_text(name));
    }
    const uint64_t begin = header.tensors.empty() ? 0 : header.tensors.back().end;
    const uint64_t end = begin + static_cast<uint64_t>(byte_size(type));
    header.tensors.push_back({std::move(name), std::move(type), begin, end});
  }
  const uint64_t data_begin = format_safetensors_header(header).size();
  for (TensorInfo& tensor : header.tensors) {
    tensor.begin += data_begin;
    tensor.end += data_begin;
  }
  return header;
}

std::string format_safetensors_header(const SafetensorsHeader& header) {
  const uint64_t data_begin = header.tensors.empty() ? 0 : header.tensors.front().begin;
  HeaderJson json = HeaderJson::object();
  if (!header.metadata.empty()) json[kMetadata] = header.metadata;
  for (const TensorInfo& tensor : header.tensors) {
    json[tensor.name] = {{"dtype", kNames[static_cast<size_t>(tensor.type.dtype)]},
                         {"shape", tensor.type.dims},
                         {"data_offsets", {tensor.begin - data_begin, tensor.end - data_begin}}};
  }
  std::string text = dump(json);
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string prefix(kSafetensorsPrefix, '\0');
  for (size_t i = 0; i < prefix.size(); ++i) prefix[i] = static_cast<char>(text.size() >> (8 * i));
  return prefix + text;
}

}  // namespace tenon
