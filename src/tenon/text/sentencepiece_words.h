// What the SentencePiece library says of an error.
#pragma once

#include <string>
#include <string_view>

namespace tenon {

// Without the library's source lines: of "./src/a.cc(660) [a == b] Vocabulary size too high" the last words;
// `otherwise` where nothing else is said.
inline std::string sentencepiece_words(std::string_view message, std::string_view otherwise) {
  if (const size_t at = message.rfind("] "); at != std::string_view::npos) message.remove_prefix(at + 2);
  while (message.ends_with(' ')) message.remove_suffix(1);
  return std::string(message.empty() ? otherwise : message);
}

}  // namespace tenon
