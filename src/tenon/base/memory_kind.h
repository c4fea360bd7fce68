// The memories of a device in which an array can lie.
#pragma once

#include <cstdint>
#include <string_view>

namespace tenon {

// Its own, or memory of the host that it can reach.
enum class MemoryKind : uint8_t { device, pinned_host };

// As PJRT and StableHLO spell it.
constexpr std::string_view to_string(MemoryKind kind) { return kind == MemoryKind::device ? "device" : "pinned_host"; }

}  // namespace tenon
