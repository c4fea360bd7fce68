// Tokens that stand for gaps in a text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/text/tokenizer.h"

namespace tenon {

// Another tokenizer's tokens, and behind them `num_sentinels` more, which are written <extra_id_0>, <extra_id_1> and so
// on, as T5 writes them. What stands between sentinels is encoded as texts of their own.
class SentinelTokenizer final : public Tokenizer {
 public:
  struct Config : Tokenizer::Config {
    Slot<Tokenizer> text;
    Required<int64_t> num_sentinels;
    Config();  // text: BytesTokenizer
    void rebase(const std::string& dir) override { text->rebase(dir); }
    void check(Checker& c) const;
    TENON_CONFIG(text, num_sentinels)
  };
  explicit SentinelTokenizer(const Config& config);
  SentinelTokenizer(std::shared_ptr<const Tokenizer> text, int64_t num_sentinels);
  const Tokenizer& text() const { return *text_; }
  int64_t vocab_size() const override { return text_->vocab_size() + num_sentinels_; }
  int32_t bos_id() const override { return text_->bos_id(); }
  int32_t eos_id() const override { return text_->eos_id(); }
  int32_t pad_id() const override { return text_->pad_id(); }
  using Tokenizer::encode;
  // Throws `invalid_argument` for a sentinel that there isn't, and what `text` throws.
  void encode(std::string_view text, std::vector<int32_t>& tokens) const override;
  std::string token_bytes(int32_t token, bool first) const override;
  // Sentinels aren't: they are written, and chosen, as text is.
  bool is_special(int32_t token) const override { return !is_sentinel(token) && text_->is_special(token); }
  Saved save() const override;

 private:
  bool is_sentinel(int32_t token) const { return token >= text_->vocab_size() && token < vocab_size(); }
  // The token of the sentinel with these digits.
  int32_t sentinel(std::string_view digits) const;
  std::shared_ptr<const Tokenizer> text_;
  int64_t num_sentinels_;
};

// What makes the tokens that aren't sentinels: the tokenizer itself where there are none.
const Tokenizer& text_tokenizer(const Tokenizer& tokenizer);

}  // namespace tenon
