// From files of text to a directory of prepared data.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tenon/data/input_text.h"
#include "tenon/text/tokenizer.h"

namespace tenon {

struct PrepareProgress {
  uint64_t bytes_read = 0, bytes_total = 0;  // of files
  uint64_t documents = 0, tokens = 0;
};

struct PrepareOptions {
  // Files and folders (list_inputs).
  std::vector<std::string> inputs;
  // A directory that isn't there yet, or is empty.
  std::string out;
  TextOptions text;
  // Threads that tokenize. What is written doesn't depend on it.
  int64_t jobs = 1;
  uint64_t shard_tokens = uint64_t{1} << 27;
  std::function<void(const PrepareProgress&)> on_progress;
};

struct PrepareReport {
  int64_t files = 0, shards = 0;
  uint64_t documents = 0, tokens = 0, text_bytes = 0;
  uint64_t empty_documents = 0;
  // Documents that weren't text (BadText).
  uint64_t bad_documents = 0;
  // Tokens for text that the tokenizer has none for: it doesn't come back.
  uint64_t unknown_tokens = 0;
  std::vector<std::string> empty_files;
};

// Tokenizes all documents, in order. `out` appears whole, by one rename, or not at all; what a killed process left in
// its place, `out`.preparing, is removed first. Throws what list_inputs, TextReader and clean_text do,
// `invalid_argument` when there is something at `out` already or nothing is left, `no_space`, and `io`, also when
// another process is preparing `out`.
PrepareReport prepare_data(const Tokenizer& tokenizer, const PrepareOptions& options);

}  // namespace tenon
