// Private to this folder: trn2.toml as the build compiles it in.
#pragma once

#include <string_view>

namespace tenon {

extern const std::string_view kTrn2Toml;

}  // namespace tenon
