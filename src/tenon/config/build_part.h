// Building what a slot of a config holds.
#pragma once

#include <memory>
#include <string_view>

#include "tenon/base/error.h"
#include "tenon/config/slot.h"

namespace tenon {

// The object that the slot at `path` of a config holds; errors begin with the path.
template <class I>
std::unique_ptr<I> build_part(std::string_view path, const Slot<I>& slot) {
  try {
    return slot.build();
  } catch (Error& e) {
    e.prefix(path);
    throw;
  }
}

}  // namespace tenon
