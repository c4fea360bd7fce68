// The header of a safetensors file: names, types and places of tensors.
//
// File: 8 bytes little-endian header length, the header (JSON), the data. Offsets in the JSON count from the data.
// https://github.com/huggingface/safetensors#format
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/base/result.h"
#include "tenon/base/shape.h"

namespace tenon {

struct TensorInfo {
  std::string name;
  TensorType type;
  // Where its bytes are in the file: [begin, end).
  uint64_t begin = 0;
  uint64_t end = 0;
};

struct SafetensorsHeader {
  // In the order of their bytes.
  std::vector<TensorInfo> tensors;
  std::map<std::string, std::string> metadata;
};

inline constexpr uint64_t kSafetensorsPrefix = 8;
inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;

// Reads the JSON text of a header in a file of `file_size` bytes. Never throws. `damaged` unless the tensors cover the
// data exactly: no gaps, no overlaps, no duplicates, lengths that fit dtype and shape; `unsupported` for element types
// that `DType` lacks. The message names tensor and offset.
Result<SafetensorsHeader> parse_safetensors_header(std::string_view json, uint64_t file_size);

// Lays tensors out one behind another, those of larger elements first and then by name, so that all are aligned. Throws
// `invalid_argument` on a name that is used twice or reserved ("__metadata__").
SafetensorsHeader lay_out_safetensors(std::vector<std::pair<std::string, TensorType>> tensors,
                                      std::map<std::string, std::string> metadata);
// Length and JSON as they stand at the front of the file, padded with spaces to a multiple of 8.
std::string format_safetensors_header(const SafetensorsHeader& header);

}  // namespace tenon
