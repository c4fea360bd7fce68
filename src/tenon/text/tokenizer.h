// Text as tokens, and back.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/config/config.h"

namespace tenon {

// Tokens are numbers from 0 to vocab_size - 1. Safe to use from several threads at once.
class Tokenizer : public Configurable {
 public:
  struct Config : AnyConfig {
    // Lets paths of files that are relative start at `dir`.
    virtual void rebase(const std::string& dir) = 0;
    TENON_FIELDS()
  };
  virtual int64_t vocab_size() const = 0;
  // In front of every document.
  virtual int32_t bos_id() const = 0;
  // Behind every document.
  virtual int32_t eos_id() const = 0;
  // Fills what has no text; never a label.
  virtual int32_t pad_id() const = 0;
  // Appends the text's tokens, without `bos` or `eos`. The text should be UTF-8.
  virtual void encode(std::string_view text, std::vector<int32_t>& tokens) const = 0;
  // The bytes a token stands for: none for special tokens (is_special) and numbers outside the vocabulary. They may be
  // part of a character only. `first`: no token with bytes has come before.
  virtual std::string token_bytes(int32_t token, bool first) const = 0;
  // Whether it never stands for text: `bos`, `eos`, `pad`, the unknown token and the like.
  virtual bool is_special(int32_t token) const = 0;
  // What it is built from, to be kept beside what was made with it: a config whose paths are names in `files`, which
  // has the files' contents.
  struct Saved {
    std::string config_toml;
    std::map<std::string, std::string> files;
  };
  virtual Saved save() const = 0;

  std::vector<int32_t> encode(std::string_view text) const;
  // All tokens' bytes, behind one another. `first` as of token_bytes.
  std::string decode(std::span<const int32_t> tokens, bool first = true) const;
};

}  // namespace tenon
