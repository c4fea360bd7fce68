#include "tenon/text/saved_tokenizer.h"

#include "tenon/base/file.h"
#include "tenon/base/hash.h"
#include "tenon/base/text.h"
#include "tenon/config/text.h"
#include "tenon/text/bytes_tokenizer.h"
#include "tenon/text/sentencepiece_tokenizer.h"

namespace tenon {
namespace {

constexpr uint64_t kMaxConfigBytes = uint64_t{1} << 20;

}  // namespace

std::map<std::string, std::string> tokenizer_files(const Tokenizer& tokenizer) {
  Tokenizer::Saved saved = tokenizer.save();
  saved.files[std::string(kTokenizerFile)] = std::move(saved.config_toml);
  return std::move(saved.files);
}

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& dir) {
  const std::string path = join_path(dir, kTokenizerFile);
  Slot<Tokenizer> config = from_toml_as<Tokenizer>(read_file(path, kMaxConfigBytes).value(), path);
  config->rebase(dir);
  return config.build();
}

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& name) {
  if (name == "bytes") return std::make_unique<BytesTokenizer>(BytesTokenizer::Config{});
  if (is_dir(name) && exists(join_path(name, kTokenizerFile))) return load_tokenizer(name);
  if (is_dir(name) || !exists(name)) {
    throw Error(ErrorCode::not_found, "no such tokenizer")
        .got(quote_text(name))
        .expected("bytes, the file of a SentencePiece model, or a directory with prepared data");
  }
  SentencePieceTokenizer::Config config;
  config.path = name;
  return std::make_unique<SentencePieceTokenizer>(config);
}

std::string fingerprint(const Tokenizer& tokenizer) {
  Sha256 hash;
  for (const auto& [name, content] : tokenizer_files(tokenizer)) {
    hash.update(std::to_string(name.size()) + " " + std::to_string(content.size()) + "\n" + name).update(content);
  }
  return hash.hex();
}

}  // namespace tenon
