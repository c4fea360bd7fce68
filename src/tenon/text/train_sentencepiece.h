// Training a SentencePiece model.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tenon/config/fields.h"

namespace tenon {

enum class PieceModel : uint8_t { unigram, bpe };
TENON_ENUM(PieceModel, unigram, bpe)

struct TrainPieces {
  // All tokens: pieces, the 256 bytes, and <unk>, <s>, </s> and <pad>, numbered 0 to 3.
  int64_t vocab_size = 8192;
  PieceModel model = PieceModel::unigram;
};

// The model's file, from texts given one after another until there is none. A model keeps texts as they are, spaces
// too, and spells what it has no piece for in bytes: decoding gives back what was encoded (but U+2581, which becomes a
// space). The same texts give the same model. Throws `invalid_argument` for a vocabulary that the texts can't fill, and
// what `next_text` throws.
std::string train_sentencepiece(const TrainPieces& settings,
                                const std::function<std::optional<std::string>()>& next_text);

}  // namespace tenon
