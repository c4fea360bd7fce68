#include "tenon/inference/text_writer.h"

#include <algorithm>

namespace tenon {

TextWriter::TextWriter(const Tokenizer& tokenizer, std::span<const int64_t> prompt, const GenerateOptions& options,
                       std::function<void(std::string_view)> on_text)
    : max_tokens_(options.max_tokens),
      end_tokens_(options.stop_tokens),
      on_text_(std::move(on_text)),
      stream_(tokenizer),
      stops_(options.stop) {
  end_tokens_.push_back(tokenizer.eos_id());
  for (const int64_t token : prompt) stream_.skip(static_cast<int32_t>(token));
  done_ = max_tokens_ == 0;
}

void TextWriter::give(const std::string& text) {
  if (on_text_ && !text.empty()) on_text_(text);
  result_.text += text;
}

void TextWriter::end(FinishReason reason) {
  result_.finish = reason;
  done_ = true;
}

bool TextWriter::push(int64_t token) {
  if (std::find(end_tokens_.begin(), end_tokens_.end(), token) != end_tokens_.end()) {
    end(FinishReason::end_token);
  } else {
    result_.tokens.push_back(static_cast<int32_t>(token));
    give(stops_.push(stream_.push(static_cast<int32_t>(token))));
    if (stops_.found()) {
      end(FinishReason::stop_string);
      return false;
    }
    if (static_cast<int64_t>(result_.tokens.size()) == max_tokens_) end(FinishReason::max_tokens);
  }
  if (!done_) return true;
  give(stops_.push(stream_.finish()));
  if (stops_.found()) {
    end(FinishReason::stop_string);
  } else {
    give(stops_.finish());
  }
  return false;
}

}  // namespace tenon
