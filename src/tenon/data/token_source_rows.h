// The rows that one source of a TokenDataset gives, in their order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tenon/data/order.h"
#include "tenon/data/packed_rows.h"
#include "tenon/data/packing.h"
#include "tenon/data/token_dataset.h"

namespace tenon {

class SourceRows {
 public:
  // Throws `invalid_argument` when the documents are fewer than fill one row, where rows aren't padded.
  SourceRows(std::vector<Document> documents, Packing packing, int64_t sequence_length, const SpecialTokens& special,
             uint64_t seed);
  // In one epoch.
  uint64_t num_rows() const;
  // The row at a position of all epochs behind one another.
  void write(RowWriter& writer, uint64_t position) const;
  // "120 documents, 13.8k tokens in 35 rows, 98.7 % full".
  std::string describe() const;

 private:
  int64_t sequence_length_;
  uint64_t num_documents_, num_tokens_ = 0;
  std::optional<PackedRows> rows_;
  std::optional<EpochOrder> row_order_;
  std::optional<PackedStream> stream_;
  std::optional<WindowOrder> window_order_;
};

}  // namespace tenon
