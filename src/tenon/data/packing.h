// Documents packed into rows of fixed length.
//
// The stream has one place more than the bytes of each document: in front stands `bos`, and every place is labelled
// with what comes next in its document.
//
//   input   bos  T   h   e   bos  A   n
//   label   T    h   e   eos A    n   …
//   segment 1    1   1   1   2    2   2
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tenon/data/corpus.h"
#include "tenon/data/dataset.h"

namespace tenon {

// What the label behind a document's last byte is.
enum class EndLabel { eos, ignored };

class PackedStream {
 public:
  // The documents' bytes must outlive the stream. A document that was cut short gets no label behind its last byte.
  PackedStream(std::vector<Document> documents, EndLabel end_label);

  // Places in the stream: bytes plus documents.
  int64_t length() const { return starts_.back(); }
  int64_t num_bytes() const { return length() - static_cast<int64_t>(documents_.size()); }

  // Rows of `sequence_length` places from each of `starts`. Windows go on at the beginning when the stream ends.
  Batch circular_batch(std::span<const int64_t> starts, int64_t sequence_length) const;
  // `batch_size` rows of the windows from `first_window` on, counted front to back; padding behind the end.
  Batch sequential_batch(int64_t first_window, int64_t batch_size, int64_t sequence_length) const;

 private:
  struct Row;
  int64_t fill(Row row, int64_t start, int64_t length) const;
  std::vector<Document> documents_;
  std::vector<int64_t> starts_;  // of each document, and the end
  EndLabel end_label_;
};

}  // namespace tenon
