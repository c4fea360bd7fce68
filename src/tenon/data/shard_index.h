// The index of a file of tokens. docs/data.md has the format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tenon/base/result.h"

namespace tenon {

struct ShardIndex {
  uint32_t token_bytes = 2;  // 2 or 4
  uint64_t text_bytes = 0;   // of the documents' texts
  // Where each document ends, in tokens: it begins where the one before ends, and isn't empty.
  std::vector<uint64_t> ends;
  // CRC-32C of each block of BlockChecks::kBlockBytes of the tokens.
  std::vector<uint32_t> block_crcs;

  uint64_t num_tokens() const { return ends.empty() ? 0 : ends.back(); }
  bool operator==(const ShardIndex&) const = default;
};

std::string format_shard_index(const ShardIndex& index);
// Never throws. `damaged` for anything that format_shard_index doesn't write; `unsupported` for another version.
Result<ShardIndex> parse_shard_index(std::span<const std::byte> bytes);

}  // namespace tenon
