// SentencePiece models (Kudo and Richardson 2018).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/text/tokenizer.h"

namespace tenon {

// Gives the ids that the SentencePiece library gives.
class SentencePieceTokenizer final : public Tokenizer {
 public:
  struct Config : Tokenizer::Config {
    // A model file, as `tenon data tokenizer` and spm_train write them.
    Required<std::string> path;
    void rebase(const std::string& dir) override;
    TENON_CONFIG(path)
  };
  // Throws `not_found`, `damaged` when it isn't a model, `unsupported` when it lacks a token for the beginning or the
  // end of a text.
  explicit SentencePieceTokenizer(const Config& config);
  ~SentencePieceTokenizer() override;

  int64_t vocab_size() const override;
  int32_t bos_id() const override;
  int32_t eos_id() const override;
  // The unknown token in models that have none.
  int32_t pad_id() const override;
  using Tokenizer::encode;
  void encode(std::string_view text, std::vector<int32_t>& tokens) const override;
  std::string token_bytes(int32_t token, bool first) const override;
  bool is_special(int32_t token) const override;
  Saved save() const override;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace tenon
