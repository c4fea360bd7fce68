// Writes documents' tokens into a directory of prepared data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "tenon/base/file.h"
#include "tenon/data/shard_index.h"
#include "tenon/data/token_manifest.h"
#include "tenon/text/tokenizer.h"

namespace tenon {

// For one thread. All throw what the system refuses.
class ShardWriter {
 public:
  // Into `dir`, an empty directory: a new shard begins when one has `shard_tokens` tokens or more.
  ShardWriter(std::string dir, const Tokenizer& tokenizer, uint64_t shard_tokens);
  // A document, which has tokens of `text_bytes` bytes of text.
  void add(std::span<const int32_t> tokens, uint64_t text_bytes);
  // Writes the tokenizer's files and the list of what there is, and puts everything on the disk.
  TokenManifest finish();

 private:
  void write_blocks(bool all);
  void finish_shard();
  std::string dir_;
  const Tokenizer& tokenizer_;
  uint64_t shard_tokens_;
  TokenManifest manifest_;
  std::optional<OutputFile> file_;  // of the shard that is being written
  ShardIndex index_;
  std::string pending_;  // bytes behind the last whole block
};

}  // namespace tenon
