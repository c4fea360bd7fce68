// Prepared data, mapped into memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tenon/base/mapped_file.h"
#include "tenon/data/block_checks.h"
#include "tenon/data/document.h"
#include "tenon/data/token_manifest.h"
#include "tenon/text/tokenizer.h"

namespace tenon {

class TokenStore {
 public:
  // Opens a directory that `tenon data prepare` wrote. Lists, indexes and tokenizer are compared with their checksums,
  // and files of tokens with their lengths, here; tokens when they are used (Document::checks). Throws `not_found`,
  // `damaged` naming the file, `unsupported`.
  explicit TokenStore(const std::string& dir);

  const std::string& path() const { return path_; }
  const TokenManifest& manifest() const { return manifest_; }
  const std::shared_ptr<const Tokenizer>& tokenizer() const { return tokenizer_; }
  // In the order they were prepared in. They lie in this object.
  const std::vector<Document>& documents() const { return documents_; }
  int64_t num_tokens() const { return num_tokens_; }
  uint64_t text_bytes() const { return text_bytes_; }
  // Compares all tokens with their checksums; throws `damaged`.
  void verify() const;

 private:
  void open_tokenizer_files();
  void open_shard(size_t shard);
  struct Shard {
    MappedFile file;
    std::unique_ptr<BlockChecks> checks;
  };
  std::string path_;
  TokenManifest manifest_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<Shard> shards_;
  std::vector<Document> documents_;
  int64_t num_tokens_ = 0;
  uint64_t text_bytes_ = 0;
};

// Whether a directory looks like prepared data.
bool is_prepared_data(const std::string& dir);

}  // namespace tenon
