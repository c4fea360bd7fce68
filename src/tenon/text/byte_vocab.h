// Bytes as tokens: the 256 bytes, then three special tokens.
#pragma once

#include <cstdint>

namespace tenon {

inline constexpr int32_t kPadToken = 256;  // fills what has no text; never a label
inline constexpr int32_t kBosToken = 257;  // in front of every document
inline constexpr int32_t kEosToken = 258;  // the label behind the last byte of a document
inline constexpr int64_t kByteVocabSize = 259;

}  // namespace tenon
