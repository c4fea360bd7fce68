// Documents as tokens, and the rows of batches that they are written into.
//
// A document of n tokens has n + 1 places: in front stands `bos`, and every place is labelled with what comes next.
//
//   input   bos  T   h   e
//   label   T    h   e   eos
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tenon/data/language_dataset.h"
#include "tenon/text/byte_vocab.h"

namespace tenon {

class BlockChecks;
class Tokenizer;

// The label of a position that isn't trained on.
inline constexpr int32_t kIgnoredLabel = -1;

// Tokens that aren't text; those of bytes by default.
struct SpecialTokens {
  int32_t bos = kBosToken, eos = kEosToken, pad = kPadToken;
  static SpecialTokens of(const Tokenizer& tokenizer);
};

// What the label behind a document's last token is.
enum class EndLabel : uint8_t { eos, ignored };

// A document, or part of one, where it lies: little-endian tokens of `width` bytes (1, 2 or 4).
struct Document {
  std::span<const std::byte> bytes;
  // Whether its last token is the document's last: only then is there a label behind it.
  bool whole_end = true;
  size_t width = 1;
  // What vouches for the bytes, if anything does.
  const BlockChecks* checks = nullptr;
  // Whether its first token is the document's first.
  bool whole_begin = true;

  int64_t num_tokens() const { return static_cast<int64_t>(bytes.size() / width); }
  int64_t num_places() const { return num_tokens() + 1; }
  // Of `index` < num_tokens(). Throws what `checks` does.
  int32_t token(int64_t index) const;
  // The first or the other tokens, as documents: `count` at most num_tokens().
  Document first(int64_t count) const;
  Document behind(int64_t count) const;
  // Of the tokens [begin, end). Throws `damaged`.
  void check(int64_t begin, int64_t end) const;
};

// A batch of zeros, to be written by RowWriters.
TokenBatch empty_batch(int64_t batch_size, int64_t sequence_length);

// Writes one row of a batch from left to right.
class RowWriter {
 public:
  RowWriter(TokenBatch& batch, int64_t row);
  // The places [begin, end) of a document as the row's next segment. Throws what Document::checks does.
  void add(const Document& document, int64_t begin, int64_t end, const SpecialTokens& special, EndLabel end_label);
  // Fills the rest of the row.
  void pad(const SpecialTokens& special);

 private:
  template <class T>
  void add_tokens(const Document& document, int64_t begin, int64_t end, int32_t bos, int32_t last_label);
  int64_t left_;  // places
  int32_t segment_ = 0;
  int32_t *input_, *label_, *segment_id_, *position_;
};

}  // namespace tenon
