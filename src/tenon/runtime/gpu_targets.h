// What the compiler must know of a GPU that isn't here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenon {

// The kinds there are: "h100", "h200", "a100", "b200", "mi300x".
std::vector<std::string> gpu_kinds();
// XLA's GpuTargetConfig in protobuf text form. Throws `unknown_name` with the nearest kinds.
std::string gpu_target_config(std::string_view kind);

}  // namespace tenon
