#include "tenon/checkpoint/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "tenon/base/file.h"
#include "tenon/base/sealed_json.h"
#include "tenon/base/text.h"

namespace tenon {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kFormat = "tenon-checkpoint";
constexpr std::string_view kName = "manifest";

Error damaged(const std::string& why) { return Error(ErrorCode::damaged, "the manifest is damaged: " + why); }

// Thrown and caught within this file only.
const Json& member(const Json& object, const char* key) {
  if (!object.is_object() || !object.contains(key)) throw damaged(fmt::format("no {}", key));
  return object.at(key);
}

uint64_t number(const Json& object, const char* key, uint64_t max) {
  const Json& value = member(object, key);
  if (!value.is_number_unsigned() || value.get<uint64_t>() > max) throw damaged(fmt::format("{} is out of range", key));
  return value.get<uint64_t>();
}

std::string text_of(const Json& value, const std::string& what) {
  if (!value.is_string()) throw damaged(what + " is not text");
  return value.get<std::string>();
}

const Json& object_member(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_object()) throw damaged(fmt::format("{} is not an object", key));
  return value;
}

Manifest read(const Json& json) {
  constexpr uint64_t kMax64 = std::numeric_limits<uint64_t>::max();
  constexpr uint64_t kMax32 = std::numeric_limits<uint32_t>::max();
  if (text_of(member(json, "format"), "format") != kFormat) throw damaged("it is of another format");
  if (const uint64_t version = number(json, "version", kMax64); version != kManifestVersion) {
    throw Error(ErrorCode::unsupported, "the checkpoint is of another version of the format")
        .got(std::to_string(version))
        .expected(std::to_string(kManifestVersion))
        .hint("use the release of tenon that wrote it, or a newer one");
  }
  Manifest manifest;
  manifest.step =
      static_cast<int64_t>(number(json, "step", static_cast<uint64_t>(std::numeric_limits<int64_t>::max())));
  for (const auto& [key, value] : object_member(json, "metadata").items()) manifest.metadata[key] = text_of(value, key);
  for (const auto& [name, value] : object_member(json, "files").items()) {
    if (!is_plain_file_name(name)) throw damaged("the file name " + quote_text(name));
    manifest.files[name] = {number(value, "bytes", kMax64), static_cast<uint32_t>(number(value, "crc32c", kMax32))};
  }
  for (const auto& [name, value] : object_member(json, "tensors").items()) {
    const std::string file = text_of(member(value, "file"), "file");
    if (!manifest.files.contains(file)) throw damaged("tensor " + quote_text(name) + " is in no file");
    manifest.tensors[name] = {file, static_cast<uint32_t>(number(value, "crc32c", kMax32))};
  }
  return manifest;
}

}  // namespace

std::string format_manifest(const Manifest& manifest) {
  Json files = Json::object(), tensors = Json::object();
  for (const auto& [name, file] : manifest.files) files[name] = {{"bytes", file.bytes}, {"crc32c", file.crc}};
  for (const auto& [name, tensor] : manifest.tensors) tensors[name] = {{"file", tensor.file}, {"crc32c", tensor.crc}};
  const Json json = {{"format", kFormat},     {"version", kManifestVersion},
                     {"step", manifest.step}, {"metadata", Json(manifest.metadata)},
                     {"files", files},        {"tensors", tensors}};
  try {
    return seal_json(kName, json.dump(1));
  } catch (const Json::exception&) {
    throw Error(ErrorCode::invalid_argument, "names and metadata of a checkpoint must be UTF-8");
  }
}

Result<Manifest> parse_manifest(std::string_view text) {
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

}  // namespace tenon
