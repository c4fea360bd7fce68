// Text with gaps, and what belongs into them: pairs for an encoder-decoder.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tenon/data/language_dataset.h"

namespace tenon {

// How many tokens of a text are taken out, in how many gaps.
struct GapCounts {
  int64_t tokens = 0, gaps = 0;
};

// Rows of another dataset with spans of tokens taken out, the objective of T5 (Raffel et al. 2020, section 3.1.4). Each
// gap is one sentinel in the source; the target is the sentinels, each before what belongs there:
//
//   text     Thank you for inviting me to your party last week
//   source   Thank you <0> me to your party <1>
//   target   <0> for inviting <1> last week eos
//
// As in T5's code, a text begins with what stays and ends with a gap. Its tokenizer is that of `text` with the
// sentinels of the longest row behind its tokens (SentinelTokenizer). A row is one text, whatever documents are in it;
// where its gaps are depends on the seed and the row's number alone, in training and evaluation.
class SpanCorruption final : public LanguageDataset {
 public:
  struct Config : LanguageDataset::Config {
    // Where texts come from; takes batch_size, sequence_length and seed from here.
    Slot<LanguageDataset> text;
    // The part of a text's tokens that is taken out, and how many go together, on average.
    double noise_rate = 0.15;
    double mean_span_length = 3;
    Config();
    // Of a text of so many tokens, of at least two: at least one stays in front of each gap.
    GapCounts count_gaps(int64_t num_tokens) const;
    // "source_ids", "source_segment_ids" and "source_positions" i32 [B,S], and those of token_batch_types, [B,T].
    BatchTypes batch_types() const override;
    void check(Checker& c) const;
    TENON_CONFIG(text, noise_rate, mean_span_length)
  };

  // Throws what building `text` throws, and `invalid_argument` when it has no tokenizer.
  explicit SpanCorruption(const Config& config);
  ~SpanCorruption() override;

  Batch batch(int64_t step) const override;
  std::optional<int64_t> num_batches() const override { return text_->num_batches(); }
  std::unique_ptr<Dataset> held_out() const override;
  std::shared_ptr<const Tokenizer> tokenizer() const override { return tokenizer_; }
  std::string describe() const override;

 private:
  SpanCorruption(const Config& config, std::unique_ptr<Dataset> text);
  Config config_;
  std::shared_ptr<const Dataset> text_;
  std::shared_ptr<const Tokenizer> tokenizer_;
};

}  // namespace tenon
