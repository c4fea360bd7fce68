#include "tenon/text/train_sentencepiece.h"

#include <sentencepiece_trainer.h>

#include <algorithm>
#include <exception>
#include <unordered_map>

#include "tenon/base/error.h"
#include "tenon/text/sentencepiece_words.h"

namespace tenon {
namespace {

// The library passes over lines that are longer than it wants; this many bytes it takes.
constexpr size_t kMaxLine = 4192;

// Lines of the texts, as the library wants them.
class Lines final : public sentencepiece::SentenceIterator {
 public:
  explicit Lines(const std::function<std::optional<std::string>()>& next_text) : next_text_(next_text) { Next(); }

  bool done() const override { return done_; }
  const std::string& value() const override { return line_; }
  sentencepiece::util::Status status() const override { return {}; }
  // What next_text threw: the library must not see exceptions.
  std::exception_ptr failure() const { return failure_; }

  void Next() override {
    line_.clear();
    while (line_.empty() && !done_) {
      if (at_ < text_.size()) {
        take_line();
      } else {
        refill();
      }
    }
  }

 private:
  void take_line() {
    size_t end = std::min(text_.find('\n', at_), text_.size());
    if (end - at_ > kMaxLine) {
      end = at_ + kMaxLine;
      for (int i = 0; i < 3 && (static_cast<unsigned char>(text_[end]) & 0xC0) == 0x80; ++i)
        --end;  // a character whole
    }
    line_ = text_.substr(at_, end - at_);
    at_ = end + (end < text_.size() && text_[end] == '\n' ? 1 : 0);
  }
  void refill() {
    try {
      std::optional<std::string> text = next_text_();
      done_ = !text.has_value();
      text_ = std::move(text).value_or("");
      at_ = 0;
    } catch (...) {
      failure_ = std::current_exception();
      done_ = true;
    }
  }

  const std::function<std::optional<std::string>()>& next_text_;
  std::string text_, line_;
  size_t at_ = 0;
  bool done_ = false;
  std::exception_ptr failure_;
};

std::unordered_map<std::string, std::string> library_settings(const TrainPieces& settings) {
  return {{"vocab_size", std::to_string(settings.vocab_size)},
          {"model_type", std::string(to_string(settings.model))},
          {"character_coverage", "0.9995"},
          {"byte_fallback", "true"},
          {"split_digits", "true"},
          {"normalization_rule_name", "identity"},
          {"remove_extra_whitespaces", "false"},
          {"allow_whitespace_only_pieces", "true"},
          {"max_sentence_length", std::to_string(kMaxLine)},
          {"unk_id", "0"},
          {"bos_id", "1"},
          {"eos_id", "2"},
          {"pad_id", "3"},
          {"num_threads", "4"},
          {"minloglevel", "3"}};
}

}  // namespace

std::string train_sentencepiece(const TrainPieces& settings,
                                const std::function<std::optional<std::string>()>& next_text) {
  constexpr int64_t kMinVocab = 256 + 4 + 1, kMaxVocab = 1'000'000;
  if (settings.vocab_size < kMinVocab || settings.vocab_size > kMaxVocab) {
    throw Error(ErrorCode::invalid_argument, "no such vocabulary can be trained")
        .at("vocab_size")
        .got(std::to_string(settings.vocab_size))
        .expected(std::to_string(kMinVocab) + " to " + std::to_string(kMaxVocab));
  }
  Lines lines(next_text);
  if (lines.failure()) std::rethrow_exception(lines.failure());
  if (lines.done()) throw Error(ErrorCode::invalid_argument, "there is no text to train a tokenizer on");
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(library_settings(settings), &lines, &model);
  if (lines.failure()) std::rethrow_exception(lines.failure());
  if (!status.ok()) {
    throw Error(ErrorCode::invalid_argument, "the tokenizer can't be trained")
        .got(sentencepiece_words(status.error_message(), "no reason"))
        .hint("choose another vocab_size, or give more text");
  }
  return model;
}

}  // namespace tenon
