// Documents packed into rows of fixed length so that as few as can be are cut.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tenon/data/document.h"

namespace tenon {

// Every place of every document is in exactly one row. A document that fits into a row is whole in one; of a longer one
// there are as many full rows as it has, and the rest is packed like a document. Pieces go, longest first, into the row
// where the least room is left behind them (best fit decreasing; Ding et al. 2024, "Fewer Truncations Improve Language
// Modeling", section 3). Then pieces of like length change places where their rows have the room, so that another seed
// puts other documents together, in as many rows. Time: n log n or so; memory: 24 bytes a piece.
class PackedRows {
 public:
  // Documents of at most 2^40 places, whose bytes must outlive this. `seed`: which pieces go together.
  PackedRows(std::vector<Document> documents, int64_t sequence_length, EndLabel end_label, const SpecialTokens& special,
             uint64_t seed);
  // The same documents under another seed.
  PackedRows repacked(uint64_t seed) const;
  int64_t num_rows() const { return static_cast<int64_t>(row_starts_.size()) - 1; }
  int64_t num_documents() const { return static_cast<int64_t>(documents_->size()); }
  // The part of the places in all rows that documents take, in (0, 1].
  double fill() const;
  void write(RowWriter& writer, int64_t row) const;

 private:
  // Places [begin, end) of a document.
  struct Piece {
    size_t document;
    int64_t begin, end;
  };
  // Where a piece is, while rows are being filled.
  struct Filling {
    std::vector<Piece> pieces;  // longest first
    std::vector<size_t> row_of;
    std::vector<int64_t> room;  // of each row
  };
  std::vector<Piece> cut(uint64_t seed) const;
  Filling pack(std::vector<Piece> pieces) const;
  static void exchange(Filling& filling, uint64_t seed);
  void arrange(const Filling& filling);
  std::shared_ptr<const std::vector<Document>> documents_;
  int64_t sequence_length_;
  EndLabel end_label_;
  SpecialTokens special_;
  std::vector<Piece> pieces_;  // row by row
  std::vector<size_t> row_starts_;
};

}  // namespace tenon
