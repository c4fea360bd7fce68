// Private to this folder: machines.toml as the build compiles it in.
#pragma once

#include <string_view>

namespace tenon {

extern const std::string_view kMachinesToml;

}  // namespace tenon
