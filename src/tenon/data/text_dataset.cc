#include "tenon/data/text_dataset.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "tenon/base/text.h"
#include "tenon/config/define.h"
#include "tenon/data/corpus.h"
#include "tenon/data/data_path.h"
#include "tenon/data/order.h"
#include "tenon/data/packing.h"
#include "tenon/data/sequential_dataset.h"
#include "tenon/text/bytes_tokenizer.h"

namespace tenon {
namespace {

Error too_short(const TextDataset::Config& config, std::string_view part, int64_t length, int64_t needed) {
  return Error(ErrorCode::invalid_argument, fmt::format("the {} is too short", part))
      .at(data_path(config.path))
      .got(fmt::format("{} bytes", length))
      .expected(fmt::format("at least {}", needed))
      .hint("give more text, a shorter sequence_length or another eval_fraction");
}

int64_t held_out_bytes(const TextDataset::Config& config, const Corpus& corpus) {
  return static_cast<int64_t>(std::floor(static_cast<double>(corpus.num_bytes()) * config.eval_fraction));
}

}  // namespace

TENON_MODULE(TextDataset, LanguageDataset, "text files with bytes as tokens (259 of them), packed",
             {"path", "a file of texts (.txt, .jsonl, .jsonl.gz), or a folder with such"},
             {"eval_fraction", "the last part of the bytes, kept for evaluation"})

// Everything that both parts share; unchanged once made.
struct TextDataset::Text {
  explicit Text(const Config& config)
      : path(config.path),
        batch_size(config.batch_size),
        sequence_length(config.sequence_length),
        seed(static_cast<uint64_t>(config.seed)),
        corpus(data_path(path)),
        train_bytes(corpus.num_bytes() - held_out_bytes(config, corpus)),
        train(corpus.range(0, train_bytes), EndLabel::eos),
        held_out(corpus.range(train_bytes, corpus.num_bytes()), EndLabel::ignored) {
    if (train.length() < sequence_length) throw too_short(config, "training text", train.num_tokens(), sequence_length);
    if (config.eval_fraction > 0 && held_out.num_tokens() == 0) throw too_short(config, "held-out text", 0, 1);
  }

  std::string path;
  int64_t batch_size;
  int64_t sequence_length;
  uint64_t seed;
  Corpus corpus;
  int64_t train_bytes;
  PackedStream train;
  PackedStream held_out;
};

TextDataset::TextDataset(const Config& config) : text_(std::make_shared<const Text>(config)) {}
TextDataset::~TextDataset() = default;

Batch TextDataset::batch(int64_t step) const {
  int64_t first = 0;
  if (step < 0 || __builtin_mul_overflow(step, text_->batch_size, &first)) {
    throw Error(ErrorCode::invalid_argument, "no such training batch").got(std::to_string(step));
  }
  const WindowOrder order(static_cast<uint64_t>(text_->train.length()), static_cast<uint64_t>(text_->sequence_length),
                          text_->seed);
  std::vector<int64_t> starts;
  for (int64_t row = 0; row < text_->batch_size; ++row) {
    starts.push_back(static_cast<int64_t>(order.start(static_cast<uint64_t>(first) + static_cast<uint64_t>(row))));
  }
  return to_batch(text_->train.circular_batch(starts, text_->sequence_length));
}

std::unique_ptr<Dataset> TextDataset::held_out() const {
  if (text_->held_out.num_tokens() == 0) return nullptr;
  const std::shared_ptr<const PackedStream> stream(text_, &text_->held_out);
  return std::make_unique<SequentialDataset>(stream, text_->batch_size, text_->sequence_length, tokenizer());
}

std::shared_ptr<const Tokenizer> TextDataset::tokenizer() const {
  static const auto bytes = std::make_shared<const BytesTokenizer>(BytesTokenizer::Config{});
  return bytes;
}

std::string TextDataset::describe() const {
  const size_t empty = text_->corpus.empty_files().size();
  return fmt::format("{}: {} documents, {} for training, {} held out{}", text_->path, text_->corpus.num_documents(),
                     format_bytes(static_cast<uint64_t>(text_->train.num_tokens())),
                     format_bytes(static_cast<uint64_t>(text_->held_out.num_tokens())),
                     empty > 0 ? fmt::format("; {} empty files left out", empty) : "");
}

}  // namespace tenon
