// The manifest of a checkpoint: what it holds, so that nothing missing, cut or changed goes unseen.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "tenon/base/result.h"

namespace tenon {

inline constexpr std::string_view kManifestName = "MANIFEST.json";
inline constexpr int64_t kManifestVersion = 1;
inline constexpr uint64_t kMaxManifestBytes = uint64_t{64} << 20;

struct FileRecord {
  uint64_t bytes = 0;
  uint32_t crc = 0;  // CRC-32C
};
struct TensorRecord {
  std::string file;
  uint32_t crc = 0;  // CRC-32C of its bytes in the file
};
struct Manifest {
  int64_t step = 0;
  std::map<std::string, std::string> metadata;
  std::map<std::string, FileRecord> files;
  std::map<std::string, TensorRecord> tensors;
};

// JSON that ends with the CRC-32C of everything in front of it. Throws `invalid_argument` on text that isn't UTF-8.
std::string format_manifest(const Manifest& manifest);
// `damaged` for any changed byte and for contents that contradict each other; `unsupported` for a newer version.
Result<Manifest> parse_manifest(std::string_view text);

}  // namespace tenon
