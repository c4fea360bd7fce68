// A language model of text on a device, running the programs that take batches of sequences some tokens further.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tenon/inference/generate_program.h"

namespace tenon {

// Sequences, one a row: the model's cache, and f32 [rows,V], how often each token is in a row.
struct SequenceBatch {
  int64_t rows = 1, max_length = 0;
  int64_t source_length = 0;  // tokens of the longest source; 0: the model reads none
  std::vector<Array> state;
};

// What texts are written from: i32 [rows, source_length], and how many tokens of a row count, i32 [rows].
struct SourceTokens {
  Array ids, lengths;
};

// Tokens i32 [rows,T] that come next in every row. The first of them is at place `start`, the last that counts at
// `start + last`; what is behind it is padding. Both are one number for all rows, or one a row; then a row whose `last`
// is -1 takes none.
struct NextTokens {
  Array ids;
  std::vector<int64_t> start{0}, last{0};
  // With the first tokens of a batch whose model reads sources.
  std::optional<SourceTokens> sources = {};
};

// Programs are compiled once for each number of rows, of tokens, longest sequence and kind, and apart for rows of
// different lengths. Caches are donated: what a call makes takes the place of what it was given.
class ModelRunner {
 public:
  // `params` by the names that describe_state gives: those that the model writes with.
  ModelRunner(std::unique_ptr<LanguageModel> model, std::vector<std::string> names, std::vector<Array> params,
              std::shared_ptr<const Tokenizer> tokenizer, std::shared_ptr<const Backend> backend);
  int64_t vocab_size() const { return model_->vocab_size(); }
  // LanguageModel::max_length of the model.
  std::optional<int64_t> max_length() const;

  bool reads_source() const { return model_->reads_source(); }

  // Nothing written and no source read yet.
  SequenceBatch start(int64_t rows, int64_t max_length, int64_t source_length) const;
  // The tokens i32 [rows,1] that follow: sample_token's of `numbers` f32[5] and `keys` u32[rows,2], of text and its end
  // alone.
  Array sample(SequenceBatch& batch, const NextTokens& next, const Array& numbers, const Array& keys);

  // The best continuations of all rows by one token, best first: sums of `scores` f32 [rows] and the log-probability,
  // f32 [count], and row * V + token, i32 [count]. Before that, row r becomes what row parents[r] (i32 [rows]) was.
  struct Ranked {
    Array scores, places;
  };
  Ranked rank(SequenceBatch& batch, const NextTokens& next, const Array& parents, const Array& scores, int64_t count);

  // Compiles what `sample` or `rank` runs.
  void prepare(const GenerateKey& key) { program(key); }
  Array put(const Literal& value) const;
  // Of the program that ran last; zeros before the first.
  const pjrt::MemoryStats& memory() const { return memory_; }

 private:
  const Jitted& program(const GenerateKey& key);
  static GenerateKey key_of(const SequenceBatch& batch, const NextTokens& next, int64_t count);
  // Runs a program on `state`, which its results take the place of; returns the other results.
  std::vector<Array> run(const GenerateKey& key, std::vector<Array>& state, const NextTokens& next,
                         std::span<const Array> rest);

  std::unique_ptr<LanguageModel> model_;
  std::vector<std::string> names_;
  std::vector<Array> params_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::shared_ptr<const Backend> backend_;
  CompileCache cache_;
  std::map<GenerateKey, Jitted> programs_;
  pjrt::MemoryStats memory_;
};

}  // namespace tenon
