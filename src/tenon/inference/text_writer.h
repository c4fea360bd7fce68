// From tokens as a model chooses them to a text, and its end.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/inference/generate_options.h"
#include "tenon/inference/stop_strings.h"
#include "tenon/text/token_stream.h"

namespace tenon {

// Why a text ended: max_tokens were made, the model or a stop token ended it, a stop string was complete.
enum class FinishReason : uint8_t { max_tokens, end_token, stop_string };

struct GenerateResult {
  std::string text;             // without the prompt and what stopped it; valid UTF-8
  std::vector<int32_t> tokens;  // what the model chose, without the token that ended it
  FinishReason finish = FinishReason::max_tokens;
  // Compiling not included. The prompt gives the first token, each step of decoding one more. Texts written together
  // have the times of all.
  double prefill_seconds = 0, decode_seconds = 0;
};

// One text in the making.
class TextWriter {
 public:
  // The text goes on behind `prompt`. `on_text` gets whole characters as they are made; may be empty. The tokenizer
  // must outlive it.
  TextWriter(const Tokenizer& tokenizer, std::span<const int64_t> prompt, const GenerateOptions& options,
             std::function<void(std::string_view)> on_text = {});
  // The next token. Returns whether the text goes on; when it doesn't, `result` is complete.
  bool push(int64_t token);
  bool done() const { return done_; }
  const GenerateResult& result() const { return result_; }

 private:
  void give(const std::string& text);
  void end(FinishReason reason);

  int64_t max_tokens_;
  std::vector<int64_t> end_tokens_;
  std::function<void(std::string_view)> on_text_;
  TokenStream stream_;
  StopStrings stops_;
  GenerateResult result_;
  bool done_ = false;
};

}  // namespace tenon
