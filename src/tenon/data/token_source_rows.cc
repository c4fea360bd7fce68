#include "tenon/data/token_source_rows.h"

#include <fmt/format.h>

#include "tenon/base/error.h"
#include "tenon/base/text.h"

namespace tenon {

EpochRows::EpochRows(std::vector<Document> documents, int64_t sequence_length, const SpecialTokens& special,
                     uint64_t seed)
    : seed_(seed), order_(1, 0) {
  auto first = std::make_shared<const PackedRows>(std::move(documents), sequence_length, EndLabel::eos, special,
                                                  fold_seed(fold_seed(seed, 0), 0));
  num_rows_ = static_cast<uint64_t>(first->num_rows());
  fill_ = first->fill();
  order_ = EpochOrder(num_rows_, fold_seed(seed, 1));
  packed_[0] = {0, std::move(first)};
}

std::shared_ptr<const PackedRows> EpochRows::epoch_rows(uint64_t epoch) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [number, rows] : packed_) {
    if (rows != nullptr && number == epoch) return rows;
  }
  auto rows = std::make_shared<const PackedRows>(packed_[0].second->repacked(fold_seed(fold_seed(seed_, 0), epoch)));
  check(static_cast<uint64_t>(rows->num_rows()) == num_rows_, "every epoch has as many rows");
  packed_[1] = std::exchange(packed_[0], {epoch, rows});
  return rows;
}

void EpochRows::write(RowWriter& writer, uint64_t position) const {
  epoch_rows(position / num_rows_)->write(writer, static_cast<int64_t>(order_(position)));
}

SourceRows::SourceRows(std::vector<Document> documents, Packing packing, int64_t sequence_length,
                       const SpecialTokens& special, uint64_t seed)
    : sequence_length_(sequence_length), num_documents_(documents.size()) {
  for (const Document& document : documents) num_tokens_ += static_cast<uint64_t>(document.num_tokens());
  if (packing == Packing::best_fit) {
    rows_ = std::make_unique<EpochRows>(std::move(documents), sequence_length, special, seed);
    return;
  }
  stream_.emplace(std::move(documents), EndLabel::eos, special);
  if (stream_->length() < sequence_length) {
    throw Error(ErrorCode::invalid_argument, "the documents don't fill one row")
        .got(fmt::format("{} tokens", num_tokens_))
        .expected(fmt::format("at least {}", sequence_length))
        .hint("give more text, a shorter sequence_length or packing = \"best_fit\"");
  }
  window_order_.emplace(static_cast<uint64_t>(stream_->length()), static_cast<uint64_t>(sequence_length), seed);
}

uint64_t SourceRows::num_rows() const { return rows_ ? rows_->num_rows() : window_order_->num_windows(); }

void SourceRows::write(RowWriter& writer, uint64_t position) const {
  if (rows_) {
    rows_->write(writer, position);
  } else {
    stream_->write(writer, static_cast<int64_t>(window_order_->start(position)), sequence_length_);
  }
}

std::string SourceRows::describe() const {
  return fmt::format("{} documents, {} tokens in {} rows{}", num_documents_, format_count(num_tokens_), num_rows(),
                     rows_ ? fmt::format(", {:.1f} % full", 100 * rows_->fill()) : "");
}

}  // namespace tenon
