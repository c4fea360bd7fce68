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
    : documents_(std::make_shared<const std::vector<Document>>(std::move(documents))),
      sequence_length_(sequence_length),
      end_label_(end_label),
      special_(special) {
  check(!documents_->empty() && sequence_length >= 1, "documents to pack into rows");
  *this = repacked(seed);
}

PackedRows PackedRows::repacked(uint64_t seed) const {
  PackedRows out = *this;
  Filling filling = pack(cut(seed));
  exchange(filling, fold_seed(seed, 1));
  out.arrange(filling);
  return out;
}

// Pieces of at most a row, longest first, equally long ones in random order.
std::vector<PackedRows::Piece> PackedRows::cut(uint64_t seed) const {
  std::vector<Piece> pieces;
  const Permutation order(documents_->size(), seed);
  for (size_t i = 0; i < documents_->size(); ++i) {
    const size_t document = order(i);
    const int64_t places = (*documents_)[document].num_places();
    for (int64_t begin = 0; begin < places; begin += sequence_length_) {
      pieces.push_back({document, begin, std::min(begin + sequence_length_, places)});
    }
  }
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece& a, const Piece& b) { return a.end - a.begin > b.end - b.begin; });
  return pieces;
}

// How many rows there are depends on the pieces' lengths alone.
PackedRows::Filling PackedRows::pack(std::vector<Piece> pieces) const {
  Rooms rooms;
  Filling out{std::move(pieces), {}, {}};
  out.row_of.reserve(out.pieces.size());
  for (const Piece& piece : out.pieces) {
    const int64_t length = piece.end - piece.begin;
    const auto found = rooms.take(length);
    if (!found) out.room.push_back(sequence_length_);
    const size_t row = found ? found->first : out.room.size() - 1;
    out.row_of.push_back(row);
    out.room[row] -= length;
    if (out.room[row] > 0) rooms.add(row, out.room[row]);
  }
  return out;
}

void PackedRows::exchange(Filling& filling, uint64_t seed) {
  constexpr size_t kSweeps = 8, kReach = 64;
  const size_t count = filling.pieces.size();
  const auto length = [&](size_t i) { return filling.pieces[i].end - filling.pieces[i].begin; };
  for (size_t sweep = 0; sweep < kSweeps; ++sweep) {
    for (size_t i = 0; i + 1 < count; ++i) {
      const size_t reach = std::min(kReach, count - 1 - i);
      const size_t j = i + 1 + fold_seed(fold_seed(seed, sweep), i) % reach;
      size_t &longer = filling.row_of[i], &shorter = filling.row_of[j];
      const int64_t difference = length(i) - length(j);
      if (longer == shorter || filling.room[shorter] < difference) continue;
      filling.room[longer] += difference;
      filling.room[shorter] -= difference;
      std::swap(longer, shorter);
    }
  }
}

void PackedRows::arrange(const Filling& filling) {
  const size_t num_rows = filling.room.size();
  row_starts_.assign(num_rows + 1, 0);
  for (const size_t row : filling.row_of) ++row_starts_[row + 1];
  for (size_t row = 0; row < num_rows; ++row) row_starts_[row + 1] += row_starts_[row];
  pieces_.resize(filling.pieces.size());
  std::vector<size_t> next(row_starts_.begin(), row_starts_.end() - 1);
  for (size_t i = 0; i < pieces_.size(); ++i) pieces_[next[filling.row_of[i]]++] = filling.pieces[i];
}

double PackedRows::fill() const {
  double places = 0;
  for (const Document& document : *documents_) places += static_cast<double>(document.num_places());
  return places / (static_cast<double>(num_rows()) * static_cast<double>(sequence_length_));
}

void PackedRows::write(RowWriter& writer, int64_t row) const {
  const auto at = static_cast<size_t>(row);
  for (size_t i = row_starts_[at]; i < row_starts_[at + 1]; ++i) {
    const Piece& piece = pieces_[i];
    writer.add((*documents_)[piece.document], piece.begin, piece.end, special_, end_label_);
  }
  writer.pad(special_);
}

}  // namespace tenon
