#include "tenon/data/sequential_dataset.h"

#include <fmt/format.h>

#include <vector>

#include "tenon/base/text.h"
#include "tenon/text/tokenizer.h"

namespace tenon {

SequentialDataset::SequentialDataset(std::shared_ptr<const PackedStream> stream, int64_t batch_size,
                                     int64_t sequence_length, std::shared_ptr<const Tokenizer> tokenizer)
    : stream_(std::move(stream)),
      batch_size_(batch_size),
      sequence_length_(sequence_length),
      tokenizer_(std::move(tokenizer)) {}

Batch SequentialDataset::batch(int64_t step) const {
  if (step < 0 || step >= *num_batches()) {
    throw Error(ErrorCode::invalid_argument, "no such evaluation batch")
        .got(std::to_string(step))
        .expected(fmt::format("0 to {}", *num_batches() - 1));
  }
  return to_batch(stream_->sequential_batch(step * batch_size_, batch_size_, sequence_length_));
}

std::optional<int64_t> SequentialDataset::num_batches() const {
  const int64_t windows = (stream_->length() - 1) / sequence_length_ + 1;
  return (windows - 1) / batch_size_ + 1;
}

std::optional<int64_t> SequentialDataset::num_text_bytes() const {
  std::vector<int64_t> lengths;
  for (int64_t token = 0; token < tokenizer_->vocab_size(); ++token) {
    lengths.push_back(static_cast<int64_t>(tokenizer_->token_bytes(static_cast<int32_t>(token), false).size()));
  }
  int64_t bytes = 0;
  for (const Document& document : stream_->documents()) {
    bool first = document.whole_begin;
    for (int64_t i = 0; i < document.num_tokens(); ++i) {
      const int32_t token = document.token(i);
      bytes += first ? static_cast<int64_t>(tokenizer_->token_bytes(token, true).size())
                     : lengths[static_cast<size_t>(token)];
      first = first && tokenizer_->is_special(token);
    }
  }
  return bytes;
}

std::string SequentialDataset::describe() const {
  return fmt::format("{} tokens held out, {} batches", format_count(static_cast<uint64_t>(stream_->num_tokens())),
                     *num_batches());
}

}  // namespace tenon
