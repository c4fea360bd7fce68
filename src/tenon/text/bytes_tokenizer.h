// Bytes as tokens (tenon/text/byte_vocab.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/text/tokenizer.h"

namespace tenon {

class BytesTokenizer final : public Tokenizer {
 public:
  struct Config : Tokenizer::Config {
    void rebase(const std::string&) override {}
    TENON_CONFIG()
  };
  explicit BytesTokenizer(const Config&) {}
  int64_t vocab_size() const override;
  int32_t bos_id() const override;
  int32_t eos_id() const override;
  int32_t pad_id() const override;
  using Tokenizer::encode;
  // Any bytes.
  void encode(std::string_view text, std::vector<int32_t>& tokens) const override;
  std::string token_bytes(int32_t token, bool first) const override;
  bool is_special(int32_t token) const override;
  Saved save() const override;
};

}  // namespace tenon
