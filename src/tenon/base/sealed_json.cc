#include "tenon/base/sealed_json.h"

#include <fmt/format.h>

#include "tenon/base/hash.h"

namespace tenon {
namespace {

std::string opening(std::string_view name) { return fmt::format("{{\"{}\": ", name); }
std::string trailer(std::string_view body) { return fmt::format(",\n\"crc32c\": \"{:08x}\"}}\n", crc32c(body)); }
constexpr size_t kTrailerLength = 24;

Error damaged(const char* why) { return {ErrorCode::damaged, why}; }

}  // namespace

std::string seal_json(std::string_view name, const Json& json) {
  const std::string body = opening(name) + json.text({.indent = 1});
  return body + trailer(body);
}

Result<Json> unseal_json(std::string_view name, std::string_view text) {
  const std::string front = opening(name);
  if (text.size() < front.size() + kTrailerLength) return damaged("it is cut");
  const std::string_view body = text.substr(0, text.size() - kTrailerLength);
  if (text.substr(body.size()) != trailer(body)) return damaged("its checksum doesn't fit");
  if (!body.starts_with(front)) return damaged("it doesn't start as it should");
  return Json::parse(body.substr(front.size()));
}

}  // namespace tenon
