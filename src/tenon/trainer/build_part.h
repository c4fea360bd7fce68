// Private to this folder: building the parts of a Trainer::Config.
#pragma once

#include <memory>
#include <string_view>

#include "tenon/config/slot.h"

namespace tenon {

// What the slot called `name` holds; errors carry the name.
template <class I>
std::unique_ptr<I> build_part(std::string_view name, const Slot<I>& slot) {
  try {
    return slot.build();
  } catch (Error& e) {
    e.prefix(name);
    throw;
  }
}

}  // namespace tenon
