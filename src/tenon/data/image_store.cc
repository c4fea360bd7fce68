#include "tenon/data/image_store.h"

#include <fmt/format.h>

#include "tenon/base/file.h"
#include "tenon/data/image_row.h"
#include "tenon/data/line_reader.h"

namespace tenon {
namespace {

Error wrong_array(const NpyFile& file, const std::string& expected) {
  return Error(ErrorCode::invalid_argument, "the file holds another array")
      .at(file.path())
      .got(fmt::format("{} of {}", to_string(file.header().shape), file.header().type_name()))
      .expected(expected);
}

Error wrong_label(const std::string& path, const std::string& place, int64_t label, int64_t num_classes) {
  return Error(ErrorCode::invalid_argument, "a label outside the classes")
      .at(path)
      .got(fmt::format("{} {}", label, place))
      .expected(fmt::format("0 to {}", num_classes - 1))
      .hint("labels count from 0; set num_classes to how many there are");
}

bool is_image_array(const NpyHeader& header, const ImageShape& shape) {
  if (header.kind != 'u' || header.item_bytes != 1 || header.shape.empty()) return false;
  const int64_t count = header.shape[0];
  return header.shape == Dims{count, shape.height, shape.width, shape.channels} ||
         (shape.channels == 1 && header.shape == Dims{count, shape.height, shape.width});
}

}  // namespace

Result<ImageStore> ImageStore::open(const std::string& path, const ImageShape& shape, int64_t num_classes) {
  if (!exists(path)) return Error(ErrorCode::not_found, "no such file or folder of images").at(path);
  if (is_dir(path)) return open_folder(path, shape, num_classes);
  if (path.ends_with(".csv") || path.ends_with(".csv.gz")) return read_csv(path, shape, num_classes);
  return Error(ErrorCode::unsupported, "not a file of images")
      .at(path)
      .expected("a folder with images.npy and labels.npy, or a name that ends in .csv or .csv.gz");
}

Result<ImageStore> ImageStore::open_folder(const std::string& path, const ImageShape& shape, int64_t num_classes) {
  Result<NpyFile> images = NpyFile::open(join_path(path, "images.npy"));
  if (!images.ok()) return images.error();
  if (!is_image_array((*images).header(), shape)) {
    return wrong_array(*images, fmt::format("[N,{},{},{}] of uint8", shape.height, shape.width, shape.channels));
  }
  const Result<NpyFile> labels = NpyFile::open(join_path(path, "labels.npy"));
  if (!labels.ok()) return labels.error();
  const NpyHeader& header = (*labels).header();
  const int64_t count = (*images).header().shape[0];
  if (header.kind == 'f' || header.kind == 'b' || header.shape != Dims{count}) {
    return wrong_array(*labels, fmt::format("[{}] of integers, one for each image", count));
  }
  ImageStore out;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t label = (*labels).integer(i);
    if (label < 0 || label >= num_classes) {
      return wrong_label((*labels).path(), fmt::format("at index {}", i), label, num_classes);
    }
    out.labels_.push_back(static_cast<int32_t>(label));
  }
  out.image_bytes_ = static_cast<size_t>(shape.num_bytes());
  out.mapped_ = std::move(*images);
  return out;
}

Result<ImageStore> ImageStore::read_csv(const std::string& path, const ImageShape& shape, int64_t num_classes) {
  constexpr uint64_t kMaxLineBytes = uint64_t{256} << 20;
  if (static_cast<uint64_t>(shape.num_bytes()) > kMaxLineBytes / 2) {
    return Error(ErrorCode::unsupported, "images too large for a .csv").at(path).hint("write them as images.npy");
  }
  ImageStore out;
  out.image_bytes_ = static_cast<size_t>(shape.num_bytes());
  LineReader lines(path, kMaxLineBytes);
  std::vector<uint8_t> pixels(out.image_bytes_);
  while (const std::optional<FileLine> line = lines.next()) {
    if (line->bytes.find_first_not_of(" \t\r") == std::string::npos) continue;
    const Result<int32_t> label = parse_image_row(line->bytes, pixels);
    if (!label.ok()) {
      Error error = label.error();
      return error.at(fmt::format("{}:{} (byte {})", path, line->number, line->offset));
    }
    if (*label >= num_classes) return wrong_label(path, fmt::format("in line {}", line->number), *label, num_classes);
    const auto bytes = std::as_bytes(std::span(pixels));
    out.read_.insert(out.read_.end(), bytes.begin(), bytes.end());
    out.labels_.push_back(*label);
  }
  return out;
}

std::span<const std::byte> ImageStore::pixels(int64_t i) const {
  const std::span<const std::byte> all = mapped_ ? mapped_->data() : std::span<const std::byte>(read_);
  return all.subspan(static_cast<size_t>(i) * image_bytes_, image_bytes_);
}

}  // namespace tenon
