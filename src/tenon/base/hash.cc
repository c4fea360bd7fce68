#include "tenon/base/hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace tenon {
namespace {

constexpr std::array<uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t big_endian(const std::byte* p) {
  return std::to_integer<uint32_t>(p[0]) << 24 | std::to_integer<uint32_t>(p[1]) << 16 |
         std::to_integer<uint32_t>(p[2]) << 8 | std::to_integer<uint32_t>(p[3]);
}

using CrcTables = std::array<std::array<uint32_t, 256>, 8>;

// tables[k][b]: the CRC of byte b followed by k zero bytes, so that eight bytes are done with eight look-ups.
constexpr CrcTables make_crc_tables() {
  constexpr uint32_t kPolynomial = 0x82f63b78;  // reflected
  CrcTables tables{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][b] = crc;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (size_t b = 0; b < 256; ++b) {
      tables[k][b] = (tables[k - 1][b] >> 8) ^ tables[0][tables[k - 1][b] & 0xff];
    }
  }
  return tables;
}
constexpr CrcTables kCrc = make_crc_tables();

}  // namespace

Sha256::Sha256()
    : state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19} {}

Sha256& Sha256::update(std::span<const std::byte> bytes) {
  size_t used = length_ % 64;
  length_ += bytes.size();
  while (!bytes.empty()) {
    if (used == 0 && bytes.size() >= 64) {
      block(bytes.data());
      bytes = bytes.subspan(64);
      continue;
    }
    const size_t count = std::min(64 - used, bytes.size());
    std::memcpy(pending_.data() + used, bytes.data(), count);
    bytes = bytes.subspan(count);
    used = (used + count) % 64;
    if (used == 0) block(pending_.data());
  }
  return *this;
}

std::string Sha256::hex() const {
  Sha256 end = *this;
  const uint64_t bits = length_ * 8;
  const size_t used = length_ % 64;
  std::array<std::byte, 72> tail{std::byte{0x80}};
  const size_t zeros = (used < 56 ? 56 : 120) - used;
  for (size_t i = 0; i < 8; ++i) tail[zeros + i] = static_cast<std::byte>(bits >> (56 - 8 * i));
  end.update(std::span<const std::byte>(tail.data(), zeros + 8));
  std::string text;
  for (const uint32_t word : end.state_) text += fmt::format("{:08x}", word);
  return text;
}

void Sha256::block(const std::byte* p) {
  std::array<uint32_t, 64> w;
  for (size_t i = 0; i < 16; ++i) w[i] = big_endian(p + 4 * i);
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
    const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const std::array<uint32_t, 8> change = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < 8; ++i) state_[i] += change[i];
}

std::string sha256_hex(std::span<const std::byte> bytes) { return Sha256().update(bytes).hex(); }
std::string sha256_hex(std::string_view text) { return Sha256().update(text).hex(); }

uint32_t crc32c(std::span<const std::byte> bytes, uint32_t crc) {
  crc = ~crc;
  const std::byte* p = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; left -= 8, p += 8) {
    uint64_t word = 0;
    for (size_t i = 0; i < 8; ++i) word |= std::to_integer<uint64_t>(p[i]) << (8 * i);
    word ^= crc;
    crc = 0;
    for (size_t i = 0; i < 8; ++i) crc ^= kCrc[7 - i][(word >> (8 * i)) & 0xff];
  }
  for (; left > 0; --left, ++p) crc = (crc >> 8) ^ kCrc[0][(crc ^ std::to_integer<uint32_t>(*p)) & 0xff];
  return ~crc;
}

}  // namespace tenon
