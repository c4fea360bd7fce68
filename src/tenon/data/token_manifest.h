// What a directory of prepared data holds.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/result.h"

namespace tenon {

inline constexpr std::string_view kTokenManifestName = "tokens.json";

struct ShardRecord {
  uint64_t documents = 0, tokens = 0;
  uint32_t index_crc = 0;  // CRC-32C of the index file
};

struct TokenManifest {
  uint32_t token_bytes = 2;  // 2 or 4
  int64_t vocab_size = 0;
  std::string tokenizer;  // its fingerprint
  std::vector<ShardRecord> shards;
  std::map<std::string, uint32_t> tokenizer_files;  // CRC-32C by name
};

// JSON that ends with the CRC-32C of everything in front of it.
std::string format_token_manifest(const TokenManifest& manifest);
// Never throws. `damaged` for any changed byte; `unsupported` for another version.
Result<TokenManifest> parse_token_manifest(std::string_view text);

// "shard_00003.tokens", "shard_00003.index".
std::string shard_tokens_name(size_t shard);
std::string shard_index_name(size_t shard);

}  // namespace tenon
