// Names of arrays that hold several layers: "decoder.layers.1::3.scale" stacks layers 1, 4, 7, …
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

// The names of the `stack` layers' own arrays, in order: "decoder.layers.1.scale", "decoder.layers.4.scale", …; `name`
// itself when `stack` is 0. Throws `internal` when the name of a stacked array doesn't tell its layers.
std::vector<std::string> layer_names(std::string_view name, int64_t stack);

}  // namespace tenon
