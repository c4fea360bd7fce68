// Bytes as they come, given out as whole UTF-8 characters.
#pragma once

#include <string>
#include <string_view>

namespace tenon {

// Holds back the bytes of an unfinished character; bytes that can't be UTF-8 become U+FFFD.
class Utf8Stream {
 public:
  // What can be shown now that `bytes` have come.
  std::string push(std::string_view bytes);
  // What is left at the end.
  std::string finish();

 private:
  std::string pending_;
};

}  // namespace tenon
