// What generation needs of a model.
//
// Letters: B batch, T tokens, S tokens of a source, V vocabulary.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "tenon/nn/model.h"
#include "tenon/nn/transformer/sequence.h"

namespace tenon {

// A model that can also write: a text that goes on behind its beginning or, where reads_source, one of its own that is
// made of another, the source.
class LanguageModel : public Model {
 public:
  struct Config : Model::Config {
    Required<int64_t> vocab_size;
    TENON_FIELDS(vocab_size)
  };
  int64_t vocab_size() const { return vocab_size_; }
  // Tokens of the longest text, and of the longest source, that the model has positions for; empty: any.
  virtual std::optional<int64_t> max_length() const { return {}; }
  virtual bool reads_source() const { return false; }
  // With room for `max_len` tokens, which may be more than max_length, and a memory of sources of `memory_len` tokens.
  virtual Nest init_cache(const CacheSizes& sizes) const = 0;
  // The cache once sources ids i32 [B,S] are read, S = memory_len, before the first token is written. The first
  // `lengths` (i32 [B], at least 1) tokens of a row count, the others are padding. Throws `unsupported` unless
  // reads_source.
  virtual Nest read_source(const Nest& cache, const Tensor& ids, const Tensor& lengths) const;
  // The next T tokens ids i32 [B,T] of sequences that are `start` long; returns the cache and the logits f32 [B,V]
  // behind token `last` (0 … T-1) of them. Tokens after `last` are padding: the next call overwrites them. `start` and
  // `last` are i32 scalars, or [B] where rows differ in length; a row whose `last` is -1 takes no token, and its logits
  // mean nothing.
  virtual std::pair<Nest, Tensor> extend_step(const Nest& cache, const Tensor& ids, const Tensor& start,
                                              const Tensor& last) const = 0;
  // Whether init_cache, read_source and extend_step read the parameter or state at this path.
  virtual bool writes_with(std::string_view) const { return true; }

 protected:
  explicit LanguageModel(const Config& config) : Model(config), vocab_size_(config.vocab_size) {}

 private:
  int64_t vocab_size_;
};

}  // namespace tenon
