// Memory of this process.
#pragma once

#include <cstdint>
#include <optional>

namespace tenon {

// Bytes of it that are in the machine's memory (resident set size); none where the system doesn't tell.
std::optional<uint64_t> resident_bytes();

// Bytes it may have at most: the machine's memory, or less where its control group has a limit.
int64_t memory_limit();

}  // namespace tenon
