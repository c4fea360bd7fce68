#include "tenon/data/packed_rows.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "tenon/base/error.h"
#include "tenon/data/order.h"

namespace tenon {
namespace {

// Rows by the room left in them.
class Rooms {
 public:
  void add(size_t row, int64_t room) { rows_[room].push_back(row); }
  // Takes a row with the least room that is at least `length`.
  std::optional<std::pair<size_t, int64_t>> take(int64_t length) {
    const auto found = rows_.lower_bound(length);
    if (found == rows_.end()) return std::nullopt;
    const std::pair out(found->second.back(), found->first);
    found->second.pop_back();
    if (found->second.empty()) rows_.erase(found);
    return out;
  }

 private:
  std::map<int64_t, std::vector<size_t>> rows_;
};

}  // namespace

PackedRows::PackedRows(std::vector<Document> documents, int64_t sequence_length, EndLabel end_label,
                       const SpecialTokens& special, uint64_t seed)
    : documents_(std::move(documents)), sequence_length_(sequence_length), end_label_(end_label), special_(special) {
  check(!documents_.empty() && sequence_length >= 1, "documents to pack into rows");
  pack(cut(seed));
}

// Pieces of at most a row, longest first, equally long ones in random order.
std::vector<PackedRows::Piece> PackedRows::cut(uint64_t seed) const {
  std::vector<Piece> pieces;
  const Permutation order(documents_.size(), seed);
  for (size_t i = 0; i < documents_.size(); ++i) {
    const size_t document = order(i);
    const int64_t places = documents_[document].num_places();
    for (int64_t begin = 0; begin < places; begin += sequence_length_) {
      pieces.push_back({document, begin, std::min(begin + sequence_length_, places)});
    }
  }
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece& a, const Piece& b) { return a.end - a.begin > b.end - b.begin; });
  return pieces;
}

void PackedRows::pack(std::vector<Piece> pieces) {
  Rooms rooms;
  std::vector<size_t> row_of;
  row_of.reserve(pieces.size());
  size_t num_rows = 0;
  for (const Piece& piece : pieces) {
    const int64_t length = piece.end - piece.begin;
    const auto found = rooms.take(length);
    const auto [row, room] = found ? *found : std::pair(num_rows++, sequence_length_);
    row_of.push_back(row);
    if (room > length) rooms.add(row, room - length);
  }
  row_starts_.assign(num_rows + 1, 0);
  for (const size_t row : row_of) ++row_starts_[row + 1];
  for (size_t row = 0; row < num_rows; ++row) row_starts_[row + 1] += row_starts_[row];
  pieces_.resize(pieces.size());
  std::vector<size_t> next(row_starts_.begin(), row_starts_.end() - 1);
  for (size_t i = 0; i < pieces.size(); ++i) pieces_[next[row_of[i]]++] = pieces[i];
}

double PackedRows::fill() const {
  double places = 0;
  for (const Document& document : documents_) places += static_cast<double>(document.num_places());
  return places / (static_cast<double>(num_rows()) * static_cast<double>(sequence_length_));
}

void PackedRows::write(RowWriter& writer, int64_t row) const {
  const auto at = static_cast<size_t>(row);
  for (size_t i = row_starts_[at]; i < row_starts_[at + 1]; ++i) {
    const Piece& piece = pieces_[i];
    writer.add(documents_[piece.document], piece.begin, piece.end, special_, end_label_);
  }
  writer.pad(special_);
}

}  // namespace tenon
