// Texts that end a text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenon {

// Gives out what can't belong to a stop string any more. What is found doesn't depend on the pieces the text comes in:
// the stop string that is complete first; of several, the longest.
class StopStrings {
 public:
  explicit StopStrings(std::vector<std::string> stops) : stops_(std::move(stops)) {}
  // What can be shown now that `text` has come; nothing of a stop string, and nothing behind one.
  std::string push(std::string_view text);
  // What is left at the end.
  std::string finish();
  bool found() const { return found_; }

 private:
  // How many bytes at the end of pending_ may be the beginning of a stop string.
  size_t held_back() const;

  std::vector<std::string> stops_;
  std::string pending_;
  bool found_ = false;
};

}  // namespace tenon
