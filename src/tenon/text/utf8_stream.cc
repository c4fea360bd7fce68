#include "tenon/text/utf8_stream.h"

#include "tenon/base/utf8.h"

namespace tenon {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

}  // namespace

std::string Utf8Stream::push(std::string_view bytes) {
  pending_ += bytes;
  std::string out;
  size_t at = 0;
  while (at < pending_.size()) {
    const Utf8Front front = utf8_front(std::string_view(pending_).substr(at));
    if (front.whole()) {
      out += pending_.substr(at, front.length);
      at += front.length;
    } else if (front.length > 0 && at + front.good == pending_.size()) {
      break;
    } else {
      out += kReplacement;
      at += front.good == 0 ? 1 : front.good;
    }
  }
  pending_.erase(0, at);
  return out;
}

std::string Utf8Stream::finish() {
  const bool unfinished = !pending_.empty();
  pending_.clear();
  return unfinished ? std::string(kReplacement) : std::string();
}

}  // namespace tenon
