// What this layer's tests share.
#pragma once

#include "tenon/base/error.h"

namespace tenon {

// The Error that `f` throws; an `internal` one when it throws none.
template <class F>
Error thrown(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorCode::internal, "nothing was thrown");
}

}  // namespace tenon
