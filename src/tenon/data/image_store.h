// Images of one size and their labels, from files.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tenon/data/npy.h"

namespace tenon {

struct ImageShape {
  int64_t height = 1, width = 1, channels = 1;
  int64_t num_bytes() const { return height * width * channels; }
};

class ImageStore {
 public:
  // `path` is a folder with images.npy (uint8 [N, height, width, channels]; without the last where channels is 1) and
  // labels.npy (integers [N]), which are mapped; or a .csv or .csv.gz with a line an image: its pixels row by row,
  // channels innermost, then its label; which is read. `not_found`; `damaged` or `invalid_argument`, naming file and
  // place, for what isn't such a file, and for labels outside 0 … num_classes - 1.
  static Result<ImageStore> open(const std::string& path, const ImageShape& shape, int64_t num_classes);

  int64_t size() const { return static_cast<int64_t>(labels_.size()); }
  // Of image `i`, row by row, channels innermost.
  std::span<const std::byte> pixels(int64_t i) const;
  int32_t label(int64_t i) const { return labels_[static_cast<size_t>(i)]; }

 private:
  ImageStore() = default;
  static Result<ImageStore> open_folder(const std::string& path, const ImageShape& shape, int64_t num_classes);
  static Result<ImageStore> read_csv(const std::string& path, const ImageShape& shape, int64_t num_classes);
  size_t image_bytes_ = 0;
  std::optional<NpyFile> mapped_;
  std::vector<std::byte> read_;
  std::vector<int32_t> labels_;
};

}  // namespace tenon
