// Texts that end a text.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/text/token_stream.h"

namespace tenon {

// Gives out what can't belong to a stop string any more. What is found doesn't depend on the pieces the text comes in:
// the stop string that is complete first; of several, the longest.
class StopStrings {
 public:
  explicit StopStrings(std::vector<std::string> stops)
      : stops_(std::make_shared<const std::vector<std::string>>(std::move(stops))) {}
  // What can be shown now that `text` has come; nothing of a stop string, and nothing behind one.
  std::string push(std::string_view text);
  // What is left at the end.
  std::string finish();
  bool found() const { return found_; }

 private:
  // How many bytes at the end of pending_ may be the beginning of a stop string.
  size_t held_back() const;

  std::shared_ptr<const std::vector<std::string>> stops_;
  std::string pending_;
  bool found_ = false;
};

// Whether a text that comes token by token has come to one of them; what it keeps of the text is no longer than they
// are. A copy goes on by itself.
class StopWatch {
 public:
  // The text goes on behind `prompt`. The tokenizer must outlive it.
  StopWatch(const Tokenizer& tokenizer, std::span<const int64_t> prompt, std::vector<std::string> stops)
      : stream_(tokenizer), stops_(std::move(stops)) {
    for (const int64_t token : prompt) stream_.skip(static_cast<int32_t>(token));
  }
  bool push(int32_t token) {
    stops_.push(stream_.push(token));
    return stops_.found();
  }

 private:
  TokenStream stream_;
  StopStrings stops_;
};

}  // namespace tenon
