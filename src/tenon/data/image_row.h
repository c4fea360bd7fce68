// Images as lines of numbers, as a .csv of pixels has them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "tenon/base/result.h"

namespace tenon {

// A line of pixels.size() numbers of 0 to 255 and then the label, with commas between and nothing else but spaces.
// Fills `pixels` and returns the label (0 to 2^31 - 1). `damaged`, with the offset in the line.
Result<int32_t> parse_image_row(std::string_view line, std::span<uint8_t> pixels);

}  // namespace tenon
