// Checks of whole configs: required fields that were never set, and what `check` members say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/config/any_config.h"

namespace tenon {

class Value;
struct ValueRef;

// Throws one `missing_field` naming all of the config's own required fields and slots that were never set; those of its
// children are asked for when the children are built.
void require_set(const AnyConfig& config);

// Runs the config's own checks, and those of the structs and functions in it, but not of its children.
void check_own(const AnyConfig& config);

// Runs all checks of the tree. Throws one `invalid_argument` telling all problems with full paths and, of those at what
// `source` has set, where it was written.
void check_tree(const AnyConfig& root);
void check_tree(const AnyConfig& root, const Value& source);

// The same for one value of a tree, whose path is called `path`.
void check_value(const ValueRef& value, std::string_view path);

// Paths of all required fields in the tree that are unset and that no parent can fill in: in a child, the interface's
// fields are left out, since its parent sets them at build.
std::vector<std::string> missing_fields(const AnyConfig& root);

// Throws one `missing_field` naming all missing_fields(root); then check_tree(root).
void validate(const AnyConfig& root);

}  // namespace tenon
