// Tokenizers beside what was made with them: prepared data, checkpoints.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "tenon/text/tokenizer.h"

namespace tenon {

inline constexpr std::string_view kTokenizerFile = "tokenizer.toml";

// The files to put beside it, by name: kTokenizerFile and those it names.
std::map<std::string, std::string> tokenizer_files(const Tokenizer& tokenizer);
// The tokenizer whose files are in `dir`. Its class must be in the global registry. Throws `not_found`, `damaged`.
std::unique_ptr<Tokenizer> load_tokenizer(const std::string& dir);
// What a command line names: "bytes", a SentencePiece model's file, or a directory for load_tokenizer.
std::unique_ptr<Tokenizer> open_tokenizer(const std::string& name);
// 64 hex digits that differ for tokenizers that aren't the same.
std::string fingerprint(const Tokenizer& tokenizer);

}  // namespace tenon
