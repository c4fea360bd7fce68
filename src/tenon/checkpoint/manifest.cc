#include "tenon/checkpoint/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "tenon/base/file.h"
#include "tenon/base/json.h"
#include "tenon/base/sealed_json.h"
#include "tenon/base/text.h"

namespace tenon {
namespace {

constexpr std::string_view kFormat = "tenon-checkpoint";
constexpr std::string_view kName = "manifest";

Error damaged(const std::string& why) { return {ErrorCode::damaged, why}; }

// Throws `damaged` with the reason alone.
Manifest read(const Json& json) {
  constexpr uint64_t kMax64 = std::numeric_limits<uint64_t>::max();
  constexpr uint64_t kMax32 = std::numeric_limits<uint32_t>::max();
  constexpr auto kMaxStep = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (json.string("format") != kFormat) throw damaged("it is of another format");
  if (const uint64_t version = json.whole_number("version", kMax64); version != kManifestVersion) {
    throw Error(ErrorCode::unsupported, "the checkpoint is of another version of the format")
        .got(std::to_string(version))
        .expected(std::to_string(kManifestVersion))
        .hint("use the release of tenon that wrote it, or a newer one");
  }
  Manifest manifest;
  manifest.step = static_cast<int64_t>(json.whole_number("step", kMaxStep));
  const Json& metadata = json.member("metadata");
  for (const auto& [key, value] : json.object("metadata")) manifest.metadata[key] = metadata.string(key);
  for (const auto& [name, file] : json.object("files")) {
    if (!is_plain_file_name(name)) throw damaged("the file name " + quote_text(name));
    manifest.files[name] = {file.whole_number("bytes", kMax64),
                            static_cast<uint32_t>(file.whole_number("crc32c", kMax32))};
  }
  for (const auto& [name, tensor] : json.object("tensors")) {
    const std::string& file = tensor.string("file");
    if (!manifest.files.contains(file)) throw damaged("tensor " + quote_text(name) + " is in no file");
    manifest.tensors[name] = {file, static_cast<uint32_t>(tensor.whole_number("crc32c", kMax32))};
  }
  return manifest;
}

}  // namespace

std::string format_manifest(const Manifest& manifest) {
  Json::Object metadata, files, tensors;
  for (const auto& [key, value] : manifest.metadata) metadata.push_back({key, value});
  for (const auto& [name, file] : manifest.files) {
    files.push_back({name, Json::Object{{"bytes", file.bytes}, {"crc32c", file.crc}}});
  }
  for (const auto& [name, tensor] : manifest.tensors) {
    tensors.push_back({name, Json::Object{{"file", tensor.file}, {"crc32c", tensor.crc}}});
  }
  try {
    return seal_json(kName, Json::Object{{"format", kFormat},
                                         {"version", kManifestVersion},
                                         {"step", manifest.step},
                                         {"metadata", metadata},
                                         {"files", files},
                                         {"tensors", tensors}});
  } catch (const Error&) {
    throw Error(ErrorCode::invalid_argument, "names and metadata of a checkpoint must be UTF-8");
  }
}

Result<Manifest> parse_manifest(std::string_view text) {
  try {
    return read(unseal_json(kName, text).value());
  } catch (const Error& e) {
    if (e.code() != ErrorCode::damaged) return e;
    return Error(ErrorCode::damaged, "the manifest is damaged: " + e.message());
  }
}

}  // namespace tenon
