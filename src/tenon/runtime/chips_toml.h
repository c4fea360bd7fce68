// Private to this folder: chips.toml as the build compiles it in.
#pragma once

#include <string_view>

namespace tenon {

extern const std::string_view kChipsToml;

}  // namespace tenon
