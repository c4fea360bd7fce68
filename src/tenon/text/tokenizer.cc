#include "tenon/text/tokenizer.h"

#include "tenon/config/define.h"

namespace tenon {

TENON_INTERFACE(Tokenizer, Configurable, "text as tokens")

std::vector<int32_t> Tokenizer::encode(std::string_view text) const {
  std::vector<int32_t> tokens;
  encode(text, tokens);
  return tokens;
}

std::string Tokenizer::decode(std::span<const int32_t> tokens, bool first) const {
  std::string out;
  for (const int32_t token : tokens) {
    out += token_bytes(token, first);
    first = first && is_special(token);
  }
  return out;
}

}  // namespace tenon
