// Bytes as tokens: the 256 bytes, then three special tokens.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

inline constexpr int32_t kPadToken = 256;  // fills what has no text; never a label
inline constexpr int32_t kBosToken = 257;  // in front of every document
inline constexpr int32_t kEosToken = 258;  // the label behind the last byte of a document
inline constexpr int64_t kByteVocabSize = 259;
// The label of a position that isn't trained on.
inline constexpr int32_t kIgnoredLabel = -1;

inline std::vector<int32_t> encode_bytes(std::string_view text) {
  std::vector<int32_t> tokens;
  tokens.reserve(text.size());
  for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
  return tokens;
}

// Special tokens and numbers outside the vocabulary give nothing.
inline std::string decode_bytes(std::span<const int32_t> tokens) {
  std::string text;
  for (const int32_t token : tokens) {
    if (token >= 0 && token < kPadToken) text += static_cast<char>(token);
  }
  return text;
}

}  // namespace tenon
