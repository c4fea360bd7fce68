// Finds fields that a class has but its TENON_ macro doesn't list. See testing.h.
#pragma once

#include <string>

#include "tenon/config/config_type.h"
#include "tenon/config/registry.h"

namespace tenon {

// What is wrong, "" when all fields are listed. The type must be one that can be made.
std::string audit_fields(const ConfigType& type);
std::string audit_fields(const FnType& type);
// Of all that is registered.
std::string audit_fields(const Registry& registry);

}  // namespace tenon
