#include "tenon/inference/text_writer.h"

#include <algorithm>

#include "tenon/data/byte_vocab.h"

namespace tenon {

TextWriter::TextWriter(const GenerateOptions& options, std::function<void(std::string_view)> on_text)
    : max_tokens_(options.max_tokens),
      end_tokens_(options.stop_tokens),
      on_text_(std::move(on_text)),
      stops_(options.stop) {
  end_tokens_.push_back(kEosToken);
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
    const char byte = static_cast<char>(token);
    give(stops_.push(utf8_.push(std::string_view(&byte, 1))));
    if (stops_.found()) {
      end(FinishReason::stop_string);
      return false;
    }
    if (static_cast<int64_t>(result_.tokens.size()) == max_tokens_) end(FinishReason::max_tokens);
  }
  if (!done_) return true;
  give(stops_.push(utf8_.finish()));
  if (stops_.found()) {
    end(FinishReason::stop_string);
  } else {
    give(stops_.finish());
  }
  return false;
}

}  // namespace tenon
