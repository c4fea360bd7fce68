#include "tenon/data/token_manifest.h"

#include <fmt/format.h>

#include <limits>

#include "tenon/base/file.h"
#include "tenon/base/json.h"
#include "tenon/base/sealed_json.h"
#include "tenon/base/text.h"

namespace tenon {
namespace {

constexpr std::string_view kFormat = "tenon-tokens";
constexpr uint64_t kVersion = 1;
constexpr std::string_view kName = "tokens";

Error damaged(const std::string& why) { return {ErrorCode::damaged, why}; }

// Throws `damaged` with the reason alone.
TokenManifest read(const Json& json) {
  constexpr uint64_t kMax32 = std::numeric_limits<uint32_t>::max(), kMaxVocab = std::numeric_limits<int32_t>::max();
  constexpr auto kMax63 = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (json.string("format") != kFormat) throw damaged("it is of another format");
  if (const uint64_t version = json.whole_number("version", kMax63); version != kVersion) {
    throw Error(ErrorCode::unsupported, "the prepared data is of another version of the format")
        .got(std::to_string(version))
        .expected(std::to_string(kVersion))
        .hint("run `tenon data prepare` again");
  }
  TokenManifest out;
  out.token_bytes = static_cast<uint32_t>(json.whole_number("token_bytes", 4));
  if (out.token_bytes != 2 && out.token_bytes != 4) throw damaged(fmt::format("tokens of {} bytes", out.token_bytes));
  out.vocab_size = static_cast<int64_t>(json.whole_number("vocab_size", kMaxVocab));
  out.tokenizer = json.string("tokenizer");
  for (const Json& shard : json.list("shards")) {
    out.shards.push_back({shard.whole_number("documents", kMax63), shard.whole_number("tokens", kMax63),
                          static_cast<uint32_t>(shard.whole_number("index_crc32c", kMax32))});
  }
  const Json& files = json.member("tokenizer_files");
  for (const auto& [name, crc] : json.object("tokenizer_files")) {
    if (!is_plain_file_name(name)) throw damaged("the file name " + quote_text(name));
    out.tokenizer_files[name] = static_cast<uint32_t>(files.whole_number(name, kMax32));
  }
  return out;
}

}  // namespace

std::string format_token_manifest(const TokenManifest& manifest) {
  Json::List shards;
  for (const ShardRecord& shard : manifest.shards) {
    shards.push_back(
        Json::Object{{"documents", shard.documents}, {"tokens", shard.tokens}, {"index_crc32c", shard.index_crc}});
  }
  Json::Object files;
  for (const auto& [name, crc] : manifest.tokenizer_files) files.push_back({name, crc});
  return seal_json(kName, Json::Object{{"format", kFormat},
                                       {"version", kVersion},
                                       {"token_bytes", manifest.token_bytes},
                                       {"vocab_size", manifest.vocab_size},
                                       {"tokenizer", manifest.tokenizer},
                                       {"tokenizer_files", files},
                                       {"shards", shards}});
}

Result<TokenManifest> parse_token_manifest(std::string_view text) {
  try {
    return read(unseal_json(kName, text).value());
  } catch (const Error& e) {
    if (e.code() != ErrorCode::damaged) return e;
    return Error(ErrorCode::damaged, "the list of prepared data is damaged: " + e.message())
        .hint("restore it from a copy, or run `tenon data prepare` again");
  }
}

std::string shard_tokens_name(size_t shard) { return fmt::format("shard_{:05}.tokens", shard); }
std::string shard_index_name(size_t shard) { return fmt::format("shard_{:05}.index", shard); }

}  // namespace tenon
