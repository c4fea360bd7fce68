// Time: one clock for measuring, one for stamps.
#pragma once

#include <chrono>

namespace tenon {

// Seconds since some fixed moment; never jumps.
inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Seconds since 1970, as the machine's clock has it.
inline double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace tenon
