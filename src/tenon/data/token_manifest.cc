#include "tenon/data/token_manifest.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "tenon/base/file.h"
#include "tenon/base/sealed_json.h"
#include "tenon/base/text.h"

namespace tenon {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kFormat = "tenon-tokens";
constexpr uint64_t kVersion = 1;
constexpr std::string_view kName = "tokens";

Error damaged(const std::string& why) {
  return Error(ErrorCode::damaged, "the list of prepared data is damaged: " + why)
      .hint("restore it from a copy, or run `tenon data prepare` again");
}

// Thrown and caught within this file only.
const Json& member(const Json& object, const char* key) {
  if (!object.is_object() || !object.contains(key)) throw damaged(fmt::format("no {}", key));
  return object.at(key);
}

uint64_t number(const Json& value, const char* what, uint64_t max) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > max)
    throw damaged(fmt::format("{} is out of range", what));
  return value.get<uint64_t>();
}

std::string text(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_string()) throw damaged(fmt::format("{} is not text", key));
  return value.get<std::string>();
}

TokenManifest read(const Json& json) {
  constexpr uint64_t kMax32 = std::numeric_limits<uint32_t>::max(), kMaxVocab = std::numeric_limits<int32_t>::max();
  constexpr auto kMax63 = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (text(json, "format") != kFormat) throw damaged("it is of another format");
  if (const uint64_t version = number(member(json, "version"), "version", kMax63); version != kVersion) {
    throw Error(ErrorCode::unsupported, "the prepared data is of another version of the format")
        .got(std::to_string(version))
        .expected(std::to_string(kVersion))
        .hint("run `tenon data prepare` again");
  }
  TokenManifest out;
  out.token_bytes = static_cast<uint32_t>(number(member(json, "token_bytes"), "token_bytes", 4));
  if (out.token_bytes != 2 && out.token_bytes != 4) throw damaged(fmt::format("tokens of {} bytes", out.token_bytes));
  out.vocab_size = static_cast<int64_t>(number(member(json, "vocab_size"), "vocab_size", kMaxVocab));
  out.tokenizer = text(json, "tokenizer");
  for (const Json& shard : member(json, "shards")) {
    out.shards.push_back({number(member(shard, "documents"), "documents", kMax63),
                          number(member(shard, "tokens"), "tokens", kMax63),
                          static_cast<uint32_t>(number(member(shard, "index_crc32c"), "index_crc32c", kMax32))});
  }
  const Json& files = member(json, "tokenizer_files");
  if (!files.is_object()) throw damaged("tokenizer_files is not an object");
  for (const auto& [name, crc] : files.items()) {
    if (!is_plain_file_name(name)) throw damaged("the file name " + quote_text(name));
    out.tokenizer_files[name] = static_cast<uint32_t>(number(crc, "a checksum", kMax32));
  }
  return out;
}

}  // namespace

std::string format_token_manifest(const TokenManifest& manifest) {
  Json shards = Json::array();
  for (const ShardRecord& shard : manifest.shards) {
    shards.push_back({{"documents", shard.documents}, {"tokens", shard.tokens}, {"index_crc32c", shard.index_crc}});
  }
  const Json json = {{"format", kFormat},
                     {"version", kVersion},
                     {"token_bytes", manifest.token_bytes},
                     {"vocab_size", manifest.vocab_size},
                     {"tokenizer", manifest.tokenizer},
                     {"tokenizer_files", Json(manifest.tokenizer_files)},
                     {"shards", shards}};
  return seal_json(kName, json.dump(1));
}

Result<TokenManifest> parse_token_manifest(std::string_view text) {
  const Result<std::string_view> sealed = unseal_json(kName, text);
  if (!sealed.ok()) return damaged(sealed.error().message());
  const Json json = Json::parse(*sealed, nullptr, false);
  if (json.is_discarded()) return damaged("it isn't JSON");
  try {
    return read(json);
  } catch (const Error& error) {
    return error;
  }
}

std::string shard_tokens_name(size_t shard) { return fmt::format("shard_{:05}.tokens", shard); }
std::string shard_index_name(size_t shard) { return fmt::format("shard_{:05}.index", shard); }

}  // namespace tenon
