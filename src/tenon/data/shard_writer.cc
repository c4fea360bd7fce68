#include "tenon/data/shard_writer.h"

#include <algorithm>

#include "tenon/base/fault.h"
#include "tenon/base/hash.h"
#include "tenon/data/block_checks.h"
#include "tenon/text/saved_tokenizer.h"

namespace tenon {
namespace {

constexpr size_t kBlock = BlockChecks::kBlockBytes, kWriteBytes = 16 * kBlock;

void write_new(const std::string& path, std::string_view content) {
  OutputFile file = OutputFile::create(path).value();
  file.write(content).value();
  file.finish().value();
}

template <class T>
void append_tokens(std::string& out, std::span<const int32_t> tokens) {
  for (const int32_t token : tokens) {
    const auto value = static_cast<T>(token);
    out.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
}

}  // namespace

ShardWriter::ShardWriter(std::string dir, const Tokenizer& tokenizer, uint64_t shard_tokens)
    : dir_(std::move(dir)), tokenizer_(tokenizer), shard_tokens_(shard_tokens) {
  manifest_.vocab_size = tokenizer.vocab_size();
  manifest_.token_bytes = tokenizer.vocab_size() <= 65536 ? 2 : 4;
  manifest_.tokenizer = fingerprint(tokenizer);
}

void ShardWriter::add(std::span<const int32_t> tokens, uint64_t text_bytes) {
  if (tokens.empty()) return;
  if (!file_) {
    file_ = OutputFile::create(join_path(dir_, shard_tokens_name(manifest_.shards.size()))).value();
    index_ = ShardIndex{manifest_.token_bytes, 0, {}, {}};
  }
  if (manifest_.token_bytes == 2) {
    append_tokens<uint16_t>(pending_, tokens);
  } else {
    append_tokens<uint32_t>(pending_, tokens);
  }
  index_.ends.push_back(index_.num_tokens() + tokens.size());
  index_.text_bytes += text_bytes;
  if (pending_.size() >= kWriteBytes) write_blocks(false);
  if (index_.num_tokens() >= shard_tokens_) finish_shard();
}

void ShardWriter::write_blocks(bool all) {
  const size_t length = all ? pending_.size() : pending_.size() / kBlock * kBlock;
  for (size_t at = 0; at < length; at += kBlock) {
    index_.block_crcs.push_back(crc32c(std::string_view(pending_).substr(at, std::min(kBlock, length - at))));
  }
  file_->write(std::string_view(pending_).substr(0, length)).value();
  pending_.erase(0, length);
}

void ShardWriter::finish_shard() {
  write_blocks(true);
  file_->finish().value();
  file_.reset();
  const std::string index = format_shard_index(index_);
  write_new(join_path(dir_, shard_index_name(manifest_.shards.size())), index);
  manifest_.shards.push_back({index_.ends.size(), index_.num_tokens(), crc32c(index)});
  fault_point("data.after_shard");
}

TokenManifest ShardWriter::finish() {
  if (file_) finish_shard();
  for (const auto& [name, content] : tokenizer_files(tokenizer_)) {
    write_new(join_path(dir_, name), content);
    manifest_.tokenizer_files[name] = crc32c(content);
  }
  write_new(join_path(dir_, kTokenManifestName), format_token_manifest(manifest_));
  fsync_dir(dir_).value();
  fault_point("data.after_manifest");
  return manifest_;
}

}  // namespace tenon
