// Modifiers: functions from a config to a changed config, as values. They print, compare and load from text, so that a
// file, a mesh rule or a command line can hold them.
#pragma once

#include <string>
#include <vector>

#include "tenon/config/fn.h"
#include "tenon/config/text.h"

namespace tenon {

// Changes the tree in place. It throws, with the path where there is one, when there is nothing in the tree that it
// could change, and when its change doesn't fit. What was there already may stay as it is.
using Modifier = Fn<void(AnyConfig&)>;

// What one modifier did.
struct ModifierReport {
  std::string modifier;             // its name
  std::vector<Difference> changes;  // by path; empty when all was so already
};
// "Replace: 2 changes\n  model.norm.eps: 1e-5 -> 1e-6\n": a line for every change, "(none)" where there was or is none.
std::string to_string(const ModifierReport& report);

// Applies the modifier, then runs all checks. On an error, whose hint names the modifier, the tree is unchanged.
ModifierReport modify(AnyConfig& config, const Modifier& modifier);
// One after the other.
std::vector<ModifierReport> modify(AnyConfig& config, const std::vector<Modifier>& modifiers);

}  // namespace tenon
