#include "tenon/data/packing.h"

#include <algorithm>

namespace tenon {

PackedStream::PackedStream(std::vector<Document> documents, EndLabel end_label, const SpecialTokens& special)
    : documents_(std::move(documents)), starts_{0}, end_label_(end_label), special_(special) {
  for (const Document& document : documents_) starts_.push_back(starts_.back() + document.num_places());
}

TokenBatch PackedStream::circular_batch(std::span<const int64_t> starts, int64_t sequence_length) const {
  TokenBatch batch = empty_batch(static_cast<int64_t>(starts.size()), sequence_length);
  for (size_t i = 0; i < starts.size(); ++i) {
    RowWriter row(batch, static_cast<int64_t>(i));
    write(row, starts[i], sequence_length);
  }
  return batch;
}

TokenBatch PackedStream::sequential_batch(int64_t first_window, int64_t batch_size, int64_t sequence_length) const {
  TokenBatch batch = empty_batch(batch_size, sequence_length);
  for (int64_t i = 0; i < batch_size; ++i) {
    const int64_t start = std::min((first_window + i) * sequence_length, length());
    RowWriter row(batch, i);
    write(row, start, std::min(sequence_length, length() - start));
    row.pad(special_);
  }
  return batch;
}

void PackedStream::write(RowWriter& row, int64_t start, int64_t length) const {
  auto index = static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end() - 1, start) - starts_.begin() - 1);
  int64_t place = start - starts_[index];
  for (; length > 0; place = 0, index = (index + 1) % documents_.size()) {
    const Document& document = documents_[index];
    const int64_t end = std::min(document.num_places(), place + length);
    row.add(document, place, end, special_, end_label_);
    length -= end - place;
  }
}

}  // namespace tenon
