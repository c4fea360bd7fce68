#include "tenon/inference/stop_strings.h"

#include <algorithm>
#include <utility>

namespace tenon {

std::string StopStrings::push(std::string_view text) {
  if (found_) return {};
  pending_ += text;
  size_t begin = std::string::npos, end = std::string::npos;
  for (const std::string& stop : *stops_) {
    const size_t at = pending_.find(stop);
    if (at == std::string::npos || at + stop.size() > end) continue;
    begin = at + stop.size() < end ? at : std::min(begin, at);
    end = at + stop.size();
  }
  found_ = end != std::string::npos;
  const size_t count = found_ ? begin : pending_.size() - held_back();
  std::string out = pending_.substr(0, count);
  pending_.erase(0, found_ ? pending_.size() : count);
  return out;
}

std::string StopStrings::finish() { return std::exchange(pending_, {}); }

size_t StopStrings::held_back() const {
  size_t out = 0;
  const std::string_view text = pending_;
  for (const std::string& stop : *stops_) {
    for (size_t size = std::min(stop.size() - 1, text.size()); size > out; --size) {
      if (std::string_view(stop).starts_with(text.substr(text.size() - size))) out = size;
    }
  }
  return out;
}

}  // namespace tenon
