// The rows that one source of a TokenDataset gives, in their order.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/data/order.h"
#include "tenon/data/packed_rows.h"
#include "tenon/data/packing.h"
#include "tenon/data/token_dataset.h"

namespace tenon {

// Documents packed anew for every epoch, into as many rows each time. For several threads.
class EpochRows {
 public:
  // As PackedRows.
  EpochRows(std::vector<Document> documents, int64_t sequence_length, const SpecialTokens& special, uint64_t seed);
  // In one epoch.
  uint64_t num_rows() const { return num_rows_; }
  double fill() const { return fill_; }
  // The row at a position of all epochs behind one another. The first of an epoch packs it.
  void write(RowWriter& writer, uint64_t position) const;

 private:
  std::shared_ptr<const PackedRows> epoch_rows(uint64_t epoch) const;

  uint64_t seed_, num_rows_ = 0;
  double fill_ = 0;
  EpochOrder order_;
  mutable std::mutex mutex_;
  // Of the last two epochs that were asked for: where one ends, both are.
  mutable std::array<std::pair<uint64_t, std::shared_ptr<const PackedRows>>, 2> packed_;
};

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
  std::unique_ptr<EpochRows> rows_;
  std::optional<PackedStream> stream_;
  std::optional<WindowOrder> window_order_;
};

}  // namespace tenon
