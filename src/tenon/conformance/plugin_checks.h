// What a plugin must do, or had better do, besides ops: one program or question each.
#pragma once

#include <span>
#include <string_view>

#include "tenon/conformance/check_machine.h"
#include "tenon/conformance/check_status.h"

namespace tenon {

struct PluginCheck {
  std::string_view name;
  std::string_view without;  // what isn't to be had where it doesn't work; "" where nothing is
  // works, compiles, differs, or not_tried where the machine isn't one to try it on. Throws what the plugin says
  // against it, and `unsupported` where it has no such thing.
  CheckOutcome (*run)(const CheckMachine& machine);

  // Training is impossible without.
  bool is_needed() const { return without.empty(); }
};

// In the order in which they are made.
std::span<const PluginCheck> plugin_checks();

}  // namespace tenon
