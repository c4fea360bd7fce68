#include "tenon/data/text_dataset.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "tenon/base/text.h"
#include "tenon/data/corpus.h"
#include "tenon/data/order.h"
#include "tenon/data/packing.h"

namespace tenon {
namespace {

Error too_short(const TextOptions& options, std::string_view part, int64_t length, int64_t needed) {
  return Error(ErrorCode::invalid_argument, fmt::format("the {} is too short", part))
      .at(options.path)
      .got(fmt::format("{} bytes", length))
      .expected(fmt::format("at least {}", needed))
      .hint("give more text, a shorter sequence_length or another eval_fraction");
}

const TextOptions& checked(const TextOptions& options) {
  const auto refuse = [](const char* field, std::string got, const char* expected) {
    throw Error(ErrorCode::invalid_argument, "out of range").at(field).got(std::move(got)).expected(expected);
  };
  const double fraction = options.eval_fraction;
  if (!(fraction >= 0 && fraction < 1)) refuse("eval_fraction", format_float(fraction), "at least 0, below 1");
  if (options.sequence_length < 1) refuse("sequence_length", std::to_string(options.sequence_length), "at least 1");
  if (options.batch_size < 1) refuse("batch_size", std::to_string(options.batch_size), "at least 1");
  return options;
}

}  // namespace

// Everything that both parts share; unchanged once made.
struct TextDataset::Text {
  explicit Text(const TextOptions& given)
      : options(checked(given)),
        corpus(Corpus::open(given.path).value()),
        train_bytes(corpus.num_bytes() -
                    static_cast<int64_t>(std::floor(static_cast<double>(corpus.num_bytes()) * given.eval_fraction))),
        train(corpus.range(0, train_bytes), EndLabel::eos),
        held_out(corpus.range(train_bytes, corpus.num_bytes()), EndLabel::ignored) {
    if (train.length() < given.sequence_length) {
      throw too_short(given, "training text", train.num_bytes(), given.sequence_length);
    }
    if (given.eval_fraction > 0 && held_out.num_bytes() == 0) throw too_short(given, "held-out text", 0, 1);
  }

  TextOptions options;
  Corpus corpus;
  int64_t train_bytes;
  PackedStream train;
  PackedStream held_out;
};

class TextDataset::HeldOut final : public Dataset {
 public:
  explicit HeldOut(std::shared_ptr<const Text> text) : text_(std::move(text)) {}

  Batch batch(int64_t step) const override {
    const TextOptions& options = text_->options;
    if (step < 0 || step >= *num_batches()) {
      throw Error(ErrorCode::invalid_argument, "no such evaluation batch")
          .got(std::to_string(step))
          .expected(fmt::format("0 to {}", *num_batches() - 1));
    }
    return text_->held_out.sequential_batch(step * options.batch_size, options.batch_size, options.sequence_length);
  }

  std::optional<int64_t> num_batches() const override {
    const TextOptions& options = text_->options;
    const int64_t windows = (text_->held_out.length() + options.sequence_length - 1) / options.sequence_length;
    return (windows + options.batch_size - 1) / options.batch_size;
  }

  std::unique_ptr<Dataset> held_out() const override { return nullptr; }
  std::string describe() const override {
    return fmt::format("{} held out, {} batches", format_bytes(static_cast<uint64_t>(text_->held_out.num_bytes())),
                       *num_batches());
  }

 private:
  std::shared_ptr<const Text> text_;
};

TextDataset::TextDataset(const TextOptions& options) : text_(std::make_shared<const Text>(options)) {}
TextDataset::~TextDataset() = default;

Batch TextDataset::batch(int64_t step) const {
  const TextOptions& options = text_->options;
  int64_t first = 0;
  if (step < 0 || __builtin_mul_overflow(step, options.batch_size, &first)) {
    throw Error(ErrorCode::invalid_argument, "no such training batch").got(std::to_string(step));
  }
  const WindowOrder order(static_cast<uint64_t>(text_->train.length()), static_cast<uint64_t>(options.sequence_length),
                          options.seed);
  std::vector<int64_t> starts;
  for (int64_t row = 0; row < options.batch_size; ++row) {
    starts.push_back(static_cast<int64_t>(order.start(static_cast<uint64_t>(first) + static_cast<uint64_t>(row))));
  }
  return text_->train.circular_batch(starts, options.sequence_length);
}

std::unique_ptr<Dataset> TextDataset::held_out() const {
  if (text_->held_out.num_bytes() == 0) return nullptr;
  return std::make_unique<HeldOut>(text_);
}

std::string TextDataset::describe() const {
  return fmt::format("{}: {} documents, {} for training, {} held out", text_->options.path,
                     text_->corpus.num_documents(), format_bytes(static_cast<uint64_t>(text_->train.num_bytes())),
                     format_bytes(static_cast<uint64_t>(text_->held_out.num_bytes())));
}

}  // namespace tenon
