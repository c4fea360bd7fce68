#include "tenon/data/packing.h"

#include <algorithm>

#include "tenon/data/byte_vocab.h"

namespace tenon {
namespace {

int32_t* row_of(Literal& literal, int64_t row) {
  return reinterpret_cast<int32_t*>(literal.bytes().data()) + row * literal.dims()[1];
}

Batch empty_batch(int64_t batch_size, int64_t sequence_length) {
  const TensorType type{DType::i32, {batch_size, sequence_length}};
  return {Literal(type), Literal(type), Literal(type), Literal(type), 0};
}

}  // namespace

// Where the tokens of one row go.
struct PackedStream::Row {
  Row(Batch& batch, int64_t row)
      : input(row_of(batch.input_ids, row)),
        label(row_of(batch.target_labels, row)),
        segment(row_of(batch.segment_ids, row)),
        position(row_of(batch.positions, row)) {}

  void put(int32_t token, int32_t target, int32_t segment_id, int32_t place) {
    *input++ = token;
    *label++ = target;
    *segment++ = segment_id;
    *position++ = place;
  }

  int32_t* input;
  int32_t* label;
  int32_t* segment;
  int32_t* position;
};

PackedStream::PackedStream(std::vector<Document> documents, EndLabel end_label)
    : documents_(std::move(documents)), starts_{0}, end_label_(end_label) {
  for (const Document& document : documents_) {
    starts_.push_back(starts_.back() + static_cast<int64_t>(document.bytes.size()) + 1);
  }
}

Batch PackedStream::circular_batch(std::span<const int64_t> starts, int64_t sequence_length) const {
  Batch batch = empty_batch(static_cast<int64_t>(starts.size()), sequence_length);
  for (size_t i = 0; i < starts.size(); ++i) {
    batch.num_tokens += fill(Row(batch, static_cast<int64_t>(i)), starts[i], sequence_length);
  }
  return batch;
}

Batch PackedStream::sequential_batch(int64_t first_window, int64_t batch_size, int64_t sequence_length) const {
  Batch batch = empty_batch(batch_size, sequence_length);
  for (int64_t i = 0; i < batch_size; ++i) {
    const int64_t start = std::min((first_window + i) * sequence_length, length());
    const int64_t used = std::min(sequence_length, length() - start);
    batch.num_tokens += fill(Row(batch, i), start, used);
    std::fill_n(row_of(batch.input_ids, i) + used, sequence_length - used, kPadToken);
    std::fill_n(row_of(batch.target_labels, i) + used, sequence_length - used, kIgnoredLabel);
  }
  return batch;
}

// Writes `length` places from `start` on; the number of labels that aren't ignored.
int64_t PackedStream::fill(Row row, int64_t start, int64_t length) const {
  int64_t labels = 0;
  auto index = static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end() - 1, start) - starts_.begin() - 1);
  int64_t place = start - starts_[index];
  for (int32_t segment = 1; length > 0; ++segment, place = 0, index = (index + 1) % documents_.size()) {
    const auto& [bytes, whole_end] = documents_[index];
    const auto size = static_cast<int64_t>(bytes.size());
    const auto byte = [data = bytes.data()](int64_t at) { return std::to_integer<int32_t>(data[at]); };
    const bool has_end = whole_end && end_label_ == EndLabel::eos;
    for (int32_t position = 0; place <= size && length > 0; ++place, ++position, --length) {
      const int32_t token = place == 0 ? kBosToken : byte(place - 1);
      const int32_t label = place < size ? byte(place) : (has_end ? kEosToken : kIgnoredLabel);
      row.put(token, label, segment, position);
      labels += label == kIgnoredLabel ? 0 : 1;
    }
  }
  return labels;
}

}  // namespace tenon
