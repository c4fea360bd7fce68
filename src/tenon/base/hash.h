// SHA-256 (FIPS 180-4) for names of content, CRC-32C (Castagnoli, RFC 3720 B.4) for finding damage.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tenon {

// The bytes of a text.
inline std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span<const char>(text.data(), text.size()));
}

class Sha256 {
 public:
  Sha256();
  Sha256& update(std::span<const std::byte> bytes);
  Sha256& update(std::string_view text) { return update(as_bytes(text)); }
  // 64 lower-case hex digits of all bytes so far; may be followed by more updates.
  std::string hex() const;

 private:
  void block(const std::byte* p);
  std::array<uint32_t, 8> state_;
  std::array<std::byte, 64> pending_{};
  uint64_t length_ = 0;
};

std::string sha256_hex(std::span<const std::byte> bytes);
std::string sha256_hex(std::string_view text);

// The CRC-32C of the bytes behind `crc` followed by `bytes`: crc32c(b, crc32c(a)) == crc32c(a + b).
uint32_t crc32c(std::span<const std::byte> bytes, uint32_t crc = 0);
inline uint32_t crc32c(std::string_view text, uint32_t crc = 0) { return crc32c(as_bytes(text), crc); }

}  // namespace tenon
