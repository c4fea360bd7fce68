// A text that comes token by token.
#pragma once

#include <cstdint>
#include <string>

#include "tenon/text/tokenizer.h"
#include "tenon/text/utf8_stream.h"

namespace tenon {

// Gives out whole UTF-8 characters; bytes that can't be UTF-8 become U+FFFD. The tokenizer must outlive it.
class TokenStream {
 public:
  explicit TokenStream(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}
  // Takes tokens that aren't shown, such as a prompt's: what comes now goes on behind them.
  void skip(int32_t token) { first_ = first_ && tokenizer_->is_special(token); }
  // What can be shown now that `token` has come.
  std::string push(int32_t token) {
    const std::string bytes = tokenizer_->token_bytes(token, first_);
    skip(token);
    return utf8_.push(bytes);
  }
  // What is left at the end.
  std::string finish() { return utf8_.finish(); }

 private:
  const Tokenizer* tokenizer_;
  Utf8Stream utf8_;
  bool first_ = true;
};

}  // namespace tenon
