// What the fuzz programs share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace tenon::fuzz {

inline std::string_view as_text(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Ends the process, as the fuzzer wants it, when what must hold doesn't.
inline void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "must hold: %s\n", what);
  std::abort();
}

}  // namespace tenon::fuzz

// What libFuzzer calls with every input.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
