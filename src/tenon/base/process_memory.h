// Memory of this process.
#pragma once

#include <cstdint>
#include <optional>

namespace tenon {

// Bytes of it that are in the machine's memory (resident set size); none where the system doesn't tell.
std::optional<uint64_t> resident_bytes();

}  // namespace tenon
