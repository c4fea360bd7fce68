// A language model's training data, prepared by `tenon data prepare`: sources mixed by weight, packed into rows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenon/data/language_dataset.h"

namespace tenon {

// best_fit: documents that fit into a row are whole in one, and rows are padded; every token is in every epoch once.
// stream: documents behind one another, cut where a row ends, nothing padded; an epoch lacks less than a row.
enum class Packing : uint8_t { best_fit, stream };
TENON_ENUM(Packing, best_fit, stream)

// One directory of prepared data, and how it is used.
class TokenSource final : public Configurable {
 public:
  struct Config : AnyConfig {
    Required<std::string> path;
    // The part of all rows that come from here; those of all sources add up to 1.
    double weight = 1;
    // Of its own order, with the dataset's seed.
    int64_t seed = 0;
    // How often it may be gone through before training data ends; 0: any number of times.
    int64_t epochs = 0;
    // Documents with fewer or more tokens are left out.
    int64_t min_tokens = 1;
    std::optional<int64_t> max_tokens;
    void check(Checker& c) const;
    TENON_CONFIG(path, weight, seed, epochs, min_tokens, max_tokens)
  };
  explicit TokenSource(const Config& config) : config_(config) {}
  const Config& config() const { return config_; }

 private:
  Config config_;
};

class TokenDataset final : public LanguageDataset {
 public:
  struct Config : LanguageDataset::Config {
    std::vector<Slot<TokenSource>> sources;
    Packing packing = Packing::best_fit;
    // The last part of each source's tokens that is kept for evaluation, in [0, 1).
    double eval_fraction = 0.01;
    // Directories of prepared data to evaluate on instead; eval_fraction is 0 then.
    std::vector<std::string> eval_paths;
    void check(Checker& c) const;
    TENON_CONFIG(sources, packing, eval_fraction, eval_paths)
  };

  // Throws `not_found` or `damaged` with the file's path, or `invalid_argument` when sources don't fit together or are
  // too short.
  explicit TokenDataset(const Config& config);
  ~TokenDataset() override;

  // Rows behind the end of the data, in the last batch, are padding.
  Batch batch(int64_t step) const override;
  Batch host_batch(int64_t step, int64_t host, int64_t num_hosts) const override;
  // None when no source has a number of epochs.
  std::optional<int64_t> num_batches() const override;
  // Labels every held-out token exactly once, and nothing else. A document that is cut in two starts again with `bos`.
  std::unique_ptr<Dataset> held_out() const override;
  std::shared_ptr<const Tokenizer> tokenizer() const override;
  std::string describe() const override;

 private:
  struct Data;
  std::shared_ptr<const Data> data_;
};

}  // namespace tenon
