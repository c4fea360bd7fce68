#include "tenon/text/bytes_tokenizer.h"

#include "tenon/config/define.h"
#include "tenon/config/text.h"
#include "tenon/text/byte_vocab.h"

namespace tenon {

TENON_MODULE(BytesTokenizer, Tokenizer, "the 256 bytes and three special tokens")

int64_t BytesTokenizer::vocab_size() const { return kByteVocabSize; }
int32_t BytesTokenizer::bos_id() const { return kBosToken; }
int32_t BytesTokenizer::eos_id() const { return kEosToken; }
int32_t BytesTokenizer::pad_id() const { return kPadToken; }

void BytesTokenizer::encode(std::string_view text, std::vector<int32_t>& tokens) const {
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  tokens.insert(tokens.end(), bytes, bytes + text.size());
}

std::string BytesTokenizer::token_bytes(int32_t token, bool) const {
  return token >= 0 && token < kPadToken ? std::string(1, static_cast<char>(token)) : std::string();
}

bool BytesTokenizer::is_special(int32_t token) const { return token < 0 || token >= kPadToken; }

Tokenizer::Saved BytesTokenizer::save() const { return {to_toml(Config{}), {}}; }

}  // namespace tenon
