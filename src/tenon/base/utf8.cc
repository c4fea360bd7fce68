#include "tenon/base/utf8.h"

#include <cstdint>

namespace tenon {
namespace {

uint8_t byte_at(std::string_view text, size_t i) { return static_cast<uint8_t>(text[i]); }

// Length of the character that `lead` begins; 0 when none does (RFC 3629).
size_t char_length(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  if (lead >= 0xF0 && lead <= 0xF4) return 4;
  return 0;
}

// Whether `b` may be byte `i` of a character that begins with `lead`: no overlong forms, surrogates or values past
// 10FFFF.
bool continues(uint8_t lead, size_t i, uint8_t b) {
  uint8_t low = 0x80, high = 0xBF;
  if (i == 1) {
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  }
  return b >= low && b <= high;
}

}  // namespace

Utf8Front utf8_front(std::string_view text) {
  if (text.empty()) return {};
  const uint8_t lead = byte_at(text, 0);
  const size_t length = char_length(lead);
  size_t good = length == 0 ? 0 : 1;
  while (good > 0 && good < length && good < text.size() && continues(lead, good, byte_at(text, good))) ++good;
  return {length, good};
}

size_t utf8_prefix(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const Utf8Front front = utf8_front(text.substr(at));
    if (!front.whole()) break;
    at += front.length;
  }
  return at;
}

}  // namespace tenon
