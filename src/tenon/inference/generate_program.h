// The programs that take batches of sequences some tokens further.
#pragma once

#include <compare>
#include <map>
#include <string>
#include <vector>

#include "tenon/nn/language/language_model.h"
#include "tenon/runtime/jit.h"
#include "tenon/text/tokenizer.h"

namespace tenon {

// What differs between them: sequences, the tokens that come next in each, the longest that sequences may get, and how
// many continuations are ranked (0: one is drawn).
struct GenerateKey {
  int64_t rows = 1, num_tokens = 1, max_length = 1, count = 0;
  bool ragged = false;        // whether start and last are one a row
  int64_t source_length = 0;  // tokens of the longest source; 0: the model reads none
  bool reads_source = false;  // whether sources are read first
  auto operator<=>(const GenerateKey&) const = default;
};

struct GenerateProgram {
  // state…, parameters…, ids, start, last, then of reading sources their ids and lengths, then of drawing numbers and
  // keys, of ranking parents and scores -> state…, then the results of either. The state, the first spec.num_donated,
  // is the cache and how often each token is in a row; it is donated.
  std::vector<TensorType> types;
  TensorFn body;
  ProgramSpec spec;  // of one device, with the parameters' names
};

// Types of the model's cache, by name.
std::map<std::string, TensorType> cache_types(const LanguageModel& model, const CacheSizes& sizes);

// `names` and `params`: the model's parameters. Tokens that `tokenizer` (null: there are none) says never stand for
// text aren't drawn. `body` refers to model and tokenizer. Throws `unsupported` for ranking with a cache whose arrays
// have no rows.
GenerateProgram make_generate_program(const LanguageModel& model, const std::vector<std::string>& names,
                                      const std::vector<TensorType>& params, const Tokenizer* tokenizer,
                                      const GenerateKey& key);

}  // namespace tenon
