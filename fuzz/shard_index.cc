// Input: the index of a file of tokens without its checksum. Whole inputs are read as well.
#include "tenon/data/shard_index.h"

#include "fuzz.h"
#include "tenon/base/hash.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  std::string text(fuzz::as_text(data, size));
  static_cast<void>(parse_shard_index(as_bytes(text)).ok());
  const uint32_t crc = crc32c(text);
  text.append(reinterpret_cast<const char*>(&crc), sizeof(crc));
  const Result<ShardIndex> index = parse_shard_index(as_bytes(text));
  if (!index.ok()) return 0;
  uint64_t before = 0;
  for (const uint64_t end : (*index).ends) {
    fuzz::must(end > before, "no document is empty");
    before = end;
  }
  const uint64_t bytes = (*index).num_tokens() * (*index).token_bytes;
  fuzz::must((*index).block_crcs.size() == (bytes + 65535) / 65536, "every block has its checksum");
  fuzz::must(format_shard_index(*index) == text, "what is written is what is read");
  return 0;
}
