#include "tenon/runtime/compile_cache.h"

#include <fmt/format.h>

#include "tenon/base/file.h"
#include "tenon/base/hash.h"
#include "tenon/pjrt/fingerprint.h"

namespace tenon {
namespace {

// magic, newline, 64 hex digits of the content's sha256, newline, content.
constexpr std::string_view kMagic = "tenon-compiled-1\n";
constexpr size_t kHashLength = 64;
constexpr size_t kHeaderLength = kMagic.size() + kHashLength + 1;

// The line of /proc/cpuinfo that lists instruction sets, and the model: code is generated for exactly these.
std::string cpu_features() {
  const Result<std::string> text = read_file("/proc/cpuinfo");
  if (!text) return "";
  std::string result;
  for (const std::string_view field : {"model name", "flags", "Features"}) {
    const size_t at = (*text).find("\n" + std::string(field));
    if (at != std::string::npos) result += (*text).substr(at, (*text).find('\n', at + 1) - at);
  }
  return result;
}

}  // namespace

std::string CompileCache::default_folder() { return join_path(pjrt::cache_folder(), "compile"); }

std::string CompileCache::path(const std::string& key) const { return join_path(folder_, key); }

std::optional<std::string> CompileCache::load(const std::string& key) const {
  Result<std::string> file = read_file(path(key));
  if (!file) return std::nullopt;
  const std::string_view view = *file;
  const bool whole = view.size() >= kHeaderLength && view.starts_with(kMagic) && view[kHeaderLength - 1] == '\n' &&
                     view.substr(kMagic.size(), kHashLength) == sha256_hex(view.substr(kHeaderLength));
  if (!whole) {
    remove(key);
    return std::nullopt;
  }
  return file->substr(kHeaderLength);
}

Status CompileCache::store(const std::string& key, std::string_view bytes) const {
  if (Status s = make_dirs(folder_); !s) return s;
  return write_file_atomic(path(key), fmt::format("{}{}\n{}", kMagic, sha256_hex(bytes), bytes));
}

void CompileCache::remove(const std::string& key) const {
  // An entry that can't be removed is found damaged again and compiled again.
  (void)remove_tree(path(key)).ok();
}

Result<std::string> compile_cache_key(const Backend& backend, std::string_view program,
                                      const pjrt::CompileOptions& options) {
  const pjrt::Client& client = backend.client();
  Result<std::string> plugin = client.plugin()->fingerprint();
  if (!plugin) return plugin.error();
  const pjrt::ApiVersion version = client.plugin()->api_version();
  Sha256 hash;
  const auto add = [&hash](std::string_view part) { hash.update(fmt::format("{}:", part.size())).update(part); };
  add(kMagic);
  add(program);
  add(pjrt::serialize(options));
  add(*plugin);
  add(fmt::format("{}.{}", version.major, version.minor));
  add(client.platform_version());
  add(backend.device_kind());
  add(std::to_string(backend.num_devices()));
  if (backend.platform() == "cpu") add(cpu_features());
  return hash.hex();
}

}  // namespace tenon
