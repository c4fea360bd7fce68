#include "tenon/pjrt/fingerprint.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <vector>

#include "tenon/base/file.h"
#include "tenon/base/hash.h"

namespace tenon::pjrt {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Result<std::string> hash_file(const std::string& path) {
  Result<InputFile> file = InputFile::open(path);
  if (!file) return file.error();
  Sha256 hash;
  std::vector<std::byte> block(size_t{4} << 20);
  for (uint64_t at = 0; at < file->size(); at += block.size()) {
    const std::span<std::byte> part(block.data(), std::min<uint64_t>(block.size(), file->size() - at));
    if (Status s = file->read(at, part); !s) return s.error();
    hash.update(part);
  }
  return hash.hex();
}

bool is_hash(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

std::string cache_folder() {
  if (const std::string dir = environment("TENON_CACHE_DIR"); !dir.empty()) return dir;
  if (const std::string dir = environment("XDG_CACHE_HOME"); !dir.empty()) return join_path(dir, "tenon");
  if (const std::string dir = environment("HOME"); !dir.empty()) return join_path(dir, ".cache/tenon");
  return fmt::format("/tmp/tenon-{}", getuid());
}

Result<std::string> file_fingerprint(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) {
    return Error(ErrorCode::not_found, std::generic_category().message(errno)).at(path);
  }
  const std::string identity =
      fmt::format("{}\n{}\n{}.{}", path, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
  const std::string folder = join_path(cache_folder(), "plugin");
  const std::string note = join_path(folder, sha256_hex(identity));
  if (Result<std::string> known = read_file(note, 64); known && is_hash(*known)) return known;
  Result<std::string> hash = hash_file(path);
  // A note that can't be written only costs the time to hash again.
  if (hash && make_dirs(folder)) (void)write_file_atomic(note, *hash).ok();
  return hash;
}

}  // namespace tenon::pjrt
