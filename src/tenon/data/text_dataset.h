// A language model's training text: bytes as tokens, a held-out part at the end.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tenon/config/number_checks.h"
#include "tenon/data/language_dataset.h"

namespace tenon {

class TextDataset final : public LanguageDataset {
 public:
  struct Config : LanguageDataset::Config {
    // A file of texts, or a folder with such, as `tenon data prepare` takes them.
    Required<std::string> path;
    // The last part of the bytes that is kept for evaluation, in [0, 1).
    double eval_fraction = 0.1;
    void check(Checker& c) const { check_interval(c, "eval_fraction", eval_fraction, '[', 0, 1, ')'); }
    TENON_CONFIG(path, eval_fraction)
  };

  // Throws what Corpus does, and `invalid_argument` when the text is too short for one window.
  explicit TextDataset(const Config& config);
  ~TextDataset() override;

  Batch batch(int64_t step) const override;
  std::optional<int64_t> num_batches() const override { return std::nullopt; }
  // Labels every held-out byte exactly once, and nothing else: the mean loss in bits is bits per byte.
  // The document that is cut in two starts again with `bos`.
  std::unique_ptr<Dataset> held_out() const override;
  std::shared_ptr<const Tokenizer> tokenizer() const override;
  std::string describe() const override;

 private:
  struct Text;
  std::shared_ptr<const Text> text_;
};

}  // namespace tenon
