// Private to this folder: chips.toml and trn2.toml as the build compiles them in.
#pragma once

#include <string_view>

namespace tenon {

extern const std::string_view kChipsToml, kTrn2Toml;

}  // namespace tenon
