// The error a test expects.
#pragma once

#include <optional>
#include <string>
#include <utility>

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

// What `f` throws, in words; "no error" when it returns.
template <class F>
std::string error_text(F f) {
  const std::optional<Error> error = error_of(std::move(f));
  return error ? error->what() : "no error";
}

}  // namespace tenon
