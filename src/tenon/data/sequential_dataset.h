// Documents read front to back once, as evaluation wants them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tenon/data/packing.h"

namespace tenon {

// Rows of a stream behind one another; the last batch is filled up with padding. Labels every token exactly once.
class SequentialDataset final : public Dataset {
 public:
  SequentialDataset(std::shared_ptr<const PackedStream> stream, int64_t batch_size, int64_t sequence_length,
                    std::shared_ptr<const Tokenizer> tokenizer);

  Batch batch(int64_t step) const override;
  std::optional<int64_t> num_batches() const override;
  std::unique_ptr<Dataset> held_out() const override { return nullptr; }
  std::shared_ptr<const Tokenizer> tokenizer() const override { return tokenizer_; }
  // Ends of documents, which are labels when the stream's `end_label` is eos, stand for no bytes.
  std::optional<int64_t> num_text_bytes() const override;
  std::string describe() const override;

 private:
  std::shared_ptr<const PackedStream> stream_;
  int64_t batch_size_, sequence_length_;
  std::shared_ptr<const Tokenizer> tokenizer_;
};

}  // namespace tenon
