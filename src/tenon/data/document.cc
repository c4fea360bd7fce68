#include "tenon/data/document.h"

#include <algorithm>
#include <cstring>

#include "tenon/base/error.h"
#include "tenon/data/block_checks.h"
#include "tenon/text/tokenizer.h"

namespace tenon {
namespace {

int32_t* row_of(Literal& literal, int64_t row) {
  return reinterpret_cast<int32_t*>(literal.bytes().data()) + row * literal.dims()[1];
}

template <class T>
int32_t token_at(const std::byte* bytes, int64_t index) {
  T token;
  std::memcpy(&token, bytes + static_cast<size_t>(index) * sizeof(T), sizeof(T));
  return static_cast<int32_t>(token);
}

}  // namespace

SpecialTokens SpecialTokens::of(const Tokenizer& tokenizer) {
  return {tokenizer.bos_id(), tokenizer.eos_id(), tokenizer.pad_id()};
}

Document Document::first(int64_t count) const {
  Document out = *this;
  out.bytes = bytes.first(static_cast<size_t>(count) * width);
  out.whole_end = whole_end && count == num_tokens();
  return out;
}

Document Document::behind(int64_t count) const {
  Document out = *this;
  out.bytes = bytes.subspan(static_cast<size_t>(count) * width);
  out.whole_begin = whole_begin && count == 0;
  return out;
}

int32_t Document::token(int64_t index) const {
  check(index, index + 1);
  switch (width) {
    case 1:
      return token_at<uint8_t>(bytes.data(), index);
    case 2:
      return token_at<uint16_t>(bytes.data(), index);
    default:
      return token_at<uint32_t>(bytes.data(), index);
  }
}

void Document::check(int64_t begin, int64_t end) const {
  if (checks == nullptr) return;
  checks->check(bytes.subspan(static_cast<size_t>(begin) * width, static_cast<size_t>(end - begin) * width));
}

TokenBatch empty_batch(int64_t batch_size, int64_t sequence_length) {
  const TensorType type{DType::i32, {batch_size, sequence_length}};
  return {Literal(type), Literal(type), Literal(type), Literal(type)};
}

RowWriter::RowWriter(TokenBatch& batch, int64_t row)
    : left_(batch.input_ids.dims()[1]),
      input_(row_of(batch.input_ids, row)),
      label_(row_of(batch.target_labels, row)),
      segment_id_(row_of(batch.segment_ids, row)),
      position_(row_of(batch.positions, row)) {}

void RowWriter::add(const Document& document, int64_t begin, int64_t end, const SpecialTokens& special,
                    EndLabel end_label) {
  const int64_t length = end - begin;
  tenon::check(0 <= begin && length >= 0 && end <= document.num_places() && length <= left_,
               "places within document and row");
  if (length == 0) return;
  const int64_t first = std::max<int64_t>(begin - 1, 0), last = std::min(end, document.num_tokens());
  document.check(first, last);
  const bool has_end = document.whole_end && end_label == EndLabel::eos;
  const int32_t last_label = has_end ? special.eos : kIgnoredLabel;
  switch (document.width) {
    case 1:
      add_tokens<uint8_t>(document, begin, end, special.bos, last_label);
      break;
    case 2:
      add_tokens<uint16_t>(document, begin, end, special.bos, last_label);
      break;
    default:
      add_tokens<uint32_t>(document, begin, end, special.bos, last_label);
      break;
  }
  std::fill_n(segment_id_, length, ++segment_);
  segment_id_ += length;
  for (int32_t i = 0; i < length; ++i) *position_++ = i;
  left_ -= length;
}

template <class T>
void RowWriter::add_tokens(const Document& document, int64_t begin, int64_t end, int32_t bos, int32_t last_label) {
  const std::byte* bytes = document.bytes.data();
  int64_t place = begin;
  if (place == 0 && place < end) {
    *input_++ = bos;
    ++place;
  }
  for (; place < end; ++place) *input_++ = token_at<T>(bytes, place - 1);
  const int64_t labels = std::min(end, document.num_tokens());
  for (place = begin; place < labels; ++place) *label_++ = token_at<T>(bytes, place);
  if (end > labels) *label_++ = last_label;
}

void RowWriter::pad(const SpecialTokens& special) {
  std::fill_n(input_, left_, special.pad);
  std::fill_n(label_, left_, kIgnoredLabel);
  left_ = 0;
}

}  // namespace tenon
