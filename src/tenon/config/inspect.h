// Looking at configs: what differs from the defaults, trees, searches, and what a class is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/config/registry.h"
#include "tenon/config/text.h"

namespace tenon {

// The lines of the tree that the defaults of its classes don't give: types where a parent has another default, and
// fields that aren't what their own class, or the parent that puts it there, sets.
std::vector<TextLine> lines_off_default(const AnyConfig& config);

// One line for each config of the tree, indented by depth: "model: CausalLm".
std::string format_tree(const AnyConfig& config);

// The lines whose path matches the pattern where it has a *, else whose path or value contains it.
std::vector<TextLine> find_lines(const AnyConfig& config, const std::string& pattern);

// What a class or function is: its doc, its fields with types, defaults and docs, and what implements it or has its
// signature. Throws `unknown_name` with the nearest names.
std::string describe_type(const Registry& registry, std::string_view name);
// All classes and functions, a line each, under the interface or signature they have.
std::string list_types(const Registry& registry);

}  // namespace tenon
