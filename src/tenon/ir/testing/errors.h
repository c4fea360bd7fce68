// The error a test expects.
#pragma once

#include <optional>

#include "tenon/base/error.h"

namespace tenon {

// What `f` throws as a tenon::Error; nothing when it returns. Other exceptions pass through.
template <class F>
std::optional<Error> error_of(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e;
  }
  return std::nullopt;
}

}  // namespace tenon
