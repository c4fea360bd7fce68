#include "tenon/data/image_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenon/base/text.h"
#include "tenon/config/define.h"
#include "tenon/config/number_checks.h"
#include "tenon/data/data_path.h"
#include "tenon/data/image_store.h"
#include "tenon/data/order.h"

namespace tenon {

TENON_MODULE(ImageDataset, Dataset, "labelled images",
             {"path", "a folder with images.npy and labels.npy, or a .csv or .csv.gz with a line an image"},
             {"height", "rows of an image"}, {"width", "columns of an image"}, {"channels", "numbers of a pixel"},
             {"num_classes", "labels there are, from 0"}, {"eval_fraction", "the part that is kept for evaluation"},
             {"eval_path", "images to evaluate on instead"},
             {"augment", "random changes of training images, one after another"})

namespace {

constexpr uint64_t kSplitKey = 0x5eed;

BatchTypes types(int64_t batch_size, const ImageShape& shape) {
  return {{"images", {DType::u8, {batch_size, shape.height, shape.width, shape.channels}}},
          {"labels", {DType::i32, {batch_size}}}};
}

Batch empty_batch(int64_t batch_size, const ImageShape& shape) {
  Batch out;
  for (auto& [name, type] : types(batch_size, shape)) out.emplace(name, Literal(type));
  return out;
}

void put(Batch& batch, int64_t row, const ImageStore& store, int64_t image) {
  const std::span<const std::byte> pixels = store.pixels(image);
  std::copy(pixels.begin(), pixels.end(),
            batch.at("images").bytes().begin() + row * static_cast<int64_t>(pixels.size()));
  batch.at("labels").set_int(row, store.label(image));
}

Error too_few(const std::string& path, const char* part) {
  return Error(ErrorCode::invalid_argument, fmt::format("the {} part has no images", part))
      .at(path)
      .hint("give more images or another eval_fraction");
}

Error no_batch(int64_t step) {
  return Error(ErrorCode::invalid_argument, "no such batch of images").got(std::to_string(step));
}

}  // namespace

BatchTypes ImageDataset::Config::batch_types() const { return types(batch_size, {height, width, channels}); }

void ImageDataset::Config::check(Checker& c) const {
  constexpr int64_t kMaxSide = 1 << 16, kMaxBytes = int64_t{1} << 40;
  for (const auto& [field, size] :
       {std::pair("height", Checker::Number(height)), std::pair("width", Checker::Number(width)),
        std::pair("channels", Checker::Number(channels))}) {
    c.positive(field, size);
    c.at_most(field, size, kMaxSide);
  }
  c.positive("num_classes", num_classes);
  c.at_most("num_classes", num_classes, std::numeric_limits<int32_t>::max());
  check_interval(c, "eval_fraction", eval_fraction, '[', 0, 1, ')');
  c.require(eval_path.empty() || eval_fraction == 0, "eval_fraction", "must be 0 with an eval_path");
  const double bytes = static_cast<double>(batch_size) * static_cast<double>(height) * static_cast<double>(width) *
                       static_cast<double>(channels);
  c.require(bytes <= static_cast<double>(kMaxBytes), "batch_size", "must make batches of at most 1 TiB");
}

// Everything that both parts share; unchanged once made.
struct ImageDataset::Data {
  explicit Data(const Config& config)
      : path(data_path(config.path)),
        shape{config.height, config.width, config.channels},
        batch_size(config.batch_size),
        seed(static_cast<uint64_t>(config.seed)),
        augment(config.augment),
        store(ImageStore::open(path, shape, config.num_classes).value()) {
    const std::string eval_path = data_path(config.eval_path);
    if (!config.eval_path.empty()) other.emplace(ImageStore::open(eval_path, shape, config.num_classes).value());
    const int64_t kept = std::llround(static_cast<double>(store.size()) * config.eval_fraction);
    num_training = store.size() - kept;
    if (num_training == 0) throw too_few(path, "training");
    if (config.eval_fraction > 0 && kept == 0) throw too_few(path, "held-out");
    if (other && other->size() == 0) throw too_few(eval_path, "held-out");
  }

  // The image at place `i`: those of training are in front of those held out.
  int64_t image(int64_t i) const {
    return static_cast<int64_t>(Permutation(static_cast<uint64_t>(store.size()), kSplitKey)(static_cast<uint64_t>(i)));
  }
  int64_t num_held_out() const { return other ? other->size() : store.size() - num_training; }

  std::string path;
  ImageShape shape;
  int64_t batch_size;
  uint64_t seed;
  std::vector<Augmentation> augment;
  ImageStore store;
  std::optional<ImageStore> other;  // to evaluate on
  int64_t num_training = 0;
};

// The held-out images front to back.
class ImageDataset::HeldOut final : public Dataset {
 public:
  explicit HeldOut(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

  Batch batch(int64_t step) const override {
    if (step < 0 || step >= *num_batches()) throw no_batch(step);
    Batch out = empty_batch(data_->batch_size, data_->shape);
    for (int64_t row = 0; row < data_->batch_size; ++row) {
      const int64_t place = step * data_->batch_size + row;
      if (place >= data_->num_held_out()) {
        out.at("labels").set_int(row, -1);
      } else if (data_->other) {
        put(out, row, *data_->other, place);
      } else {
        put(out, row, data_->store, data_->image(data_->num_training + place));
      }
    }
    return out;
  }
  std::optional<int64_t> num_batches() const override { return (data_->num_held_out() - 1) / data_->batch_size + 1; }
  std::unique_ptr<Dataset> held_out() const override { return nullptr; }
  std::string describe() const override {
    return fmt::format("{} images held out, {} batches", data_->num_held_out(), *num_batches());
  }

 private:
  std::shared_ptr<const Data> data_;
};

ImageDataset::ImageDataset(const Config& config) : data_(std::make_shared<const Data>(config)) {}
ImageDataset::~ImageDataset() = default;

Batch ImageDataset::batch(int64_t step) const {
  int64_t first = 0;
  if (step < 0 || __builtin_mul_overflow(step, data_->batch_size, &first) ||
      first > std::numeric_limits<int64_t>::max() - data_->batch_size) {
    throw no_batch(step);
  }
  const EpochOrder order(static_cast<uint64_t>(data_->num_training), data_->seed);
  Batch out = empty_batch(data_->batch_size, data_->shape);
  const auto image_bytes = static_cast<size_t>(data_->shape.num_bytes());
  for (int64_t row = 0; row < data_->batch_size; ++row) {
    const auto position = static_cast<uint64_t>(first + row);
    put(out, row, data_->store, data_->image(static_cast<int64_t>(order(position))));
    AugmentedImage image{data_->shape,
                         out.at("images").bytes().subspan(static_cast<size_t>(row) * image_bytes, image_bytes),
                         fold_seed(data_->seed, position)};
    for (const Augmentation& change : data_->augment) change(image);
  }
  return out;
}

std::unique_ptr<Dataset> ImageDataset::held_out() const {
  if (data_->num_held_out() == 0) return nullptr;
  return std::make_unique<HeldOut>(data_);
}

std::string ImageDataset::describe() const {
  const ImageShape& s = data_->shape;
  return fmt::format("{}: {} images of {} x {} x {}, {} for training, {} held out", data_->path, data_->store.size(),
                     s.height, s.width, s.channels, data_->num_training, data_->num_held_out());
}

}  // namespace tenon
