#include "tenon/data/language_dataset.h"

#include <limits>
#include <utility>

#include "tenon/config/define.h"

namespace tenon {

TENON_INTERFACE(LanguageDataset, Dataset, "batches of token sequences by step",
                {"sequence_length", "tokens in a sequence"})

Batch to_batch(TokenBatch batch) {
  Batch out;
  out.emplace("input_ids", std::move(batch.input_ids));
  out.emplace("target_labels", std::move(batch.target_labels));
  out.emplace("segment_ids", std::move(batch.segment_ids));
  out.emplace("positions", std::move(batch.positions));
  return out;
}

BatchTypes token_batch_types(int64_t batch_size, int64_t sequence_length) {
  const TensorType type{DType::i32, {batch_size, sequence_length}};
  return {{"input_ids", type}, {"positions", type}, {"segment_ids", type}, {"target_labels", type}};
}

namespace {

constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max(), kMaxTokens = int64_t{1} << 40;

void check_size(Checker& c, const char* field, const Required<int64_t>& size) {
  c.positive(field, size);
  c.at_most(field, size, kMaxSize);
}

bool fits(const Required<int64_t>& size) { return size.is_set() && size >= 1 && size <= kMaxSize; }

void check_tokens(Checker& c, const Required<int64_t>& batch_size, const Required<int64_t>& sequence_length) {
  if (!fits(batch_size) || !fits(sequence_length)) return;
  c.require(batch_size <= kMaxTokens / sequence_length, "batch_size",
            "times sequence_length must be at most 2^40 tokens");
}

}  // namespace

void check_batch_shape(Checker& c, const Required<int64_t>& batch_size, const Required<int64_t>& sequence_length) {
  check_size(c, "batch_size", batch_size);
  check_size(c, "sequence_length", sequence_length);
  check_tokens(c, batch_size, sequence_length);
}

void LanguageDataset::Config::check(Checker& c) const {
  check_size(c, "sequence_length", sequence_length);
  check_tokens(c, batch_size, sequence_length);
}

}  // namespace tenon
