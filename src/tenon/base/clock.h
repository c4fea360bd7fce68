// Time for measuring: never jumps.
#pragma once

#include <chrono>

namespace tenon {

// Seconds since some fixed moment.
inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace tenon
