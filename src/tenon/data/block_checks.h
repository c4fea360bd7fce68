// Tokens in a mapped file, compared with their checksums block by block when they are first used.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tenon {

class BlockChecks {
 public:
  static constexpr size_t kBlockBytes = 65536;
  // How many blocks so many bytes are.
  static constexpr uint64_t num_blocks(uint64_t bytes) {
    return bytes / kBlockBytes + (bytes % kBlockBytes != 0 ? 1 : 0);
  }

  // `bytes`: the content of the file `path`, tokens of `width` bytes (2 or 4), which lives as long as this. `crcs`: the
  // CRC-32C of each block. Tokens must be below `vocab_size`.
  BlockChecks(std::string path, std::span<const std::byte> bytes, std::vector<uint32_t> crcs, size_t width,
              int64_t vocab_size);

  // Throws `damaged`, naming file and offset, unless all blocks that `part` touches are as they were when the index was
  // written. From any thread. `part` lies within the file's bytes.
  void check(std::span<const std::byte> part) const;
  void check_all() const { check(bytes_); }

 private:
  void check_block(size_t block) const;
  std::string path_;
  std::span<const std::byte> bytes_;
  std::vector<uint32_t> crcs_;
  size_t width_;
  int64_t vocab_size_;
  std::unique_ptr<std::atomic<bool>[]> good_;
};

}  // namespace tenon
