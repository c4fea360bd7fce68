// Labelled images to train on: a held-out part of them, drawn once for all.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenon/data/augmentation.h"
#include "tenon/data/dataset.h"

namespace tenon {

// Batches of "images" u8 [B, height, width, channels] and "labels" i32 [B].
class ImageDataset final : public Dataset {
 public:
  struct Config : Dataset::Config {
    // A folder with images.npy and labels.npy, or a .csv or .csv.gz (image_store.h).
    Required<std::string> path;
    Required<int64_t> height, width, num_classes;
    int64_t channels = 1;
    // The part of the images that is kept for evaluation, in [0, 1): which ones depends on their number alone.
    double eval_fraction = 0.1;
    // Images to evaluate on instead; eval_fraction is 0 then.
    std::string eval_path;
    // Changes of training images, one after another.
    std::vector<Augmentation> augment;
    BatchTypes batch_types() const override;
    void check(Checker& c) const;
    TENON_CONFIG(path, height, width, channels, num_classes, eval_fraction, eval_path, augment)
  };

  // Throws what ImageStore::open gives, and `invalid_argument` when a part would have no images.
  explicit ImageDataset(const Config& config);
  ~ImageDataset() override;

  // Images in random order, another in each epoch.
  Batch batch(int64_t step) const override;
  std::optional<int64_t> num_batches() const override { return std::nullopt; }
  // Each held-out image once; behind them, in the last batch, are zeros with the label -1.
  std::unique_ptr<Dataset> held_out() const override;
  std::string describe() const override;

 private:
  struct Data;
  class HeldOut;
  std::shared_ptr<const Data> data_;
};

}  // namespace tenon
