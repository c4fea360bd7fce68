// For tests: a chip's row.
#pragma once

namespace tenon {

// All that a table of chips must say of a chip, but for its name and platform, in 11 lines.
inline constexpr const char* kChipSpeeds = R"(memory_gib = 1.5
memory_source = "m"
memory_gb_s = 2.0
bandwidth_source = "b"
tflops = { bf16 = 2.5 }
tflops_source = "t"
link_gb_s = 3.0
link_source = "l"
host_devices = 8
network_gb_s = 4.0
network_source = "n"
)";

}  // namespace tenon
