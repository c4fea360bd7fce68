// Documents packed into rows of fixed length.
//
// The places of all documents are a stream:
//
//   input   bos  T   h   e   bos  A   n
//   label   T    h   e   eos A    n   …
//   segment 1    1   1   1   2    2   2
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tenon/data/document.h"

namespace tenon {

class PackedStream {
 public:
  // The documents' bytes must outlive the stream.
  PackedStream(std::vector<Document> documents, EndLabel end_label, const SpecialTokens& special = {});

  // Places in the stream: tokens plus documents.
  int64_t length() const { return starts_.back(); }
  int64_t num_tokens() const { return length() - static_cast<int64_t>(documents_.size()); }
  int64_t num_documents() const { return static_cast<int64_t>(documents_.size()); }
  const std::vector<Document>& documents() const { return documents_; }

  // Rows of `sequence_length` places from each of `starts`. Windows go on at the beginning when the stream ends.
  TokenBatch circular_batch(std::span<const int64_t> starts, int64_t sequence_length) const;
  // `batch_size` rows of the windows from `first_window` on, counted front to back; padding behind the end.
  TokenBatch sequential_batch(int64_t first_window, int64_t batch_size, int64_t sequence_length) const;
  // Writes `length` places from `start` on into a row.
  void write(RowWriter& row, int64_t start, int64_t length) const;

 private:
  std::vector<Document> documents_;
  std::vector<int64_t> starts_;  // of each document, and the end
  EndLabel end_label_;
  SpecialTokens special_;
};

}  // namespace tenon
