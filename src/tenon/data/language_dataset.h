// Datasets of text as tokens.
#pragma once

#include "tenon/data/dataset.h"

namespace tenon {

// B rows of T tokens, all i32[B,T]. A row is one or more documents, or parts of them, packed behind one another.
struct TokenBatch {
  Literal input_ids;
  // The token behind each input token; -1 where there is none to learn.
  Literal target_labels;
  // 1, 2, … for the documents of a row; 0 for padding. Attention stays within a segment.
  Literal segment_ids;
  // Place within the segment, from 0.
  Literal positions;
};
// Its arrays by their names.
Batch to_batch(TokenBatch batch);
BatchTypes token_batch_types(int64_t batch_size, int64_t sequence_length);

// That both are positive, below 2^31, and together at most 2^40 tokens, more than any machine takes: what is computed
// from them doesn't overflow. The fields are called "batch_size" and "sequence_length".
void check_batch_shape(Checker& c, const Required<int64_t>& batch_size, const Required<int64_t>& sequence_length);

class LanguageDataset : public Dataset {
 public:
  struct Config : Dataset::Config {
    Required<int64_t> sequence_length;  // T
    BatchTypes batch_types() const override { return token_batch_types(batch_size, sequence_length); }
    void check(Checker& c) const;
    TENON_FIELDS(sequence_length)
  };
};

}  // namespace tenon
