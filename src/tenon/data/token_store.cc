#include "tenon/data/token_store.h"

#include <fmt/format.h>

#include "tenon/base/file.h"
#include "tenon/base/hash.h"
#include "tenon/data/shard_index.h"
#include "tenon/text/saved_tokenizer.h"

namespace tenon {
namespace {

constexpr uint64_t kMaxManifestBytes = uint64_t{64} << 20, kMaxTokenizerBytes = uint64_t{256} << 20;
constexpr const char* kHint = "restore it from a copy, or run `tenon data prepare` again";

TokenManifest read_manifest(const std::string& dir) {
  if (!is_prepared_data(dir)) {
    throw Error(ErrorCode::not_found, "there is no prepared data")
        .at(dir)
        .hint("`tenon data prepare` makes it from text files");
  }
  const std::string path = join_path(dir, kTokenManifestName);
  Result<TokenManifest> manifest = parse_token_manifest(read_file(path, kMaxManifestBytes).value());
  if (manifest.ok()) return std::move(*manifest);
  throw Error(manifest.error()).at(path);
}

Error changed(const std::string& path, const std::string& got, const std::string& expected) {
  return Error(ErrorCode::damaged, "the file was cut or changed since it was indexed")
      .at(path)
      .got(got)
      .expected(expected)
      .hint(kHint);
}

}  // namespace

bool is_prepared_data(const std::string& dir) { return exists(join_path(dir, kTokenManifestName)); }

TokenStore::TokenStore(const std::string& dir) : path_(dir), manifest_(read_manifest(dir)) {
  open_tokenizer_files();
  for (size_t i = 0; i < manifest_.shards.size(); ++i) open_shard(i);
}

void TokenStore::open_tokenizer_files() {
  for (const auto& [name, crc] : manifest_.tokenizer_files) {
    const std::string file = join_path(path_, name);
    if (const uint32_t now = crc32c(read_file(file, kMaxTokenizerBytes).value()); now != crc) {
      throw changed(file, fmt::format("checksum {:08x}", now), fmt::format("{:08x}", crc));
    }
  }
  tokenizer_ = load_tokenizer(path_);
  if (tokenizer_->vocab_size() != manifest_.vocab_size) {
    throw changed(join_path(path_, kTokenizerFile), fmt::format("a vocabulary of {}", tokenizer_->vocab_size()),
                  std::to_string(manifest_.vocab_size));
  }
}

void TokenStore::open_shard(size_t shard) {
  const ShardRecord& record = manifest_.shards[shard];
  const std::string index_path = join_path(path_, shard_index_name(shard));
  const std::string text = read_file(index_path).value();
  if (crc32c(text) != record.index_crc) {
    throw changed(index_path, fmt::format("{} bytes with checksum {:08x}", text.size(), crc32c(text)),
                  fmt::format("{:08x}", record.index_crc));
  }
  Result<ShardIndex> index = parse_shard_index(as_bytes(text));
  if (!index.ok()) throw Error(index.error()).at(index_path);
  if (index->num_tokens() != record.tokens || index->ends.size() != record.documents ||
      index->token_bytes != manifest_.token_bytes) {
    throw changed(index_path, fmt::format("{} tokens in {} documents", index->num_tokens(), index->ends.size()),
                  fmt::format("{} in {}", record.tokens, record.documents));
  }
  MappedFile file = MappedFile::open(join_path(path_, shard_tokens_name(shard))).value();
  const std::span<const std::byte> bytes = file.bytes();
  const size_t width = index->token_bytes;
  if (bytes.size() != index->num_tokens() * width) {
    throw changed(file.path(), fmt::format("{} bytes", bytes.size()), std::to_string(index->num_tokens() * width));
  }
  auto checks =
      std::make_unique<BlockChecks>(file.path(), bytes, std::move(index->block_crcs), width, manifest_.vocab_size);
  size_t begin = 0;
  for (const uint64_t end : index->ends) {
    documents_.push_back({bytes.subspan(begin * width, (end - begin) * width), true, width, checks.get()});
    begin = end;
  }
  num_tokens_ += static_cast<int64_t>(begin);
  text_bytes_ += index->text_bytes;
  shards_.push_back({std::move(file), std::move(checks)});
}

void TokenStore::verify() const {
  for (const Shard& shard : shards_) shard.checks->check_all();
}

}  // namespace tenon
