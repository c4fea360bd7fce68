#include "tenon/data/block_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tenon/base/error.h"
#include "tenon/base/hash.h"

namespace tenon {
namespace {

template <class T>
int64_t largest(std::span<const std::byte> bytes) {
  T most = 0;
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T token;
    std::memcpy(&token, bytes.data() + at, sizeof(T));
    most = std::max(most, token);
  }
  return static_cast<int64_t>(most);
}

}  // namespace

BlockChecks::BlockChecks(std::string path, std::span<const std::byte> bytes, std::vector<uint32_t> crcs, size_t width,
                         int64_t vocab_size)
    : path_(std::move(path)),
      bytes_(bytes),
      crcs_(std::move(crcs)),
      width_(width),
      vocab_size_(vocab_size),
      good_(std::make_unique<std::atomic<bool>[]>(crcs_.size())) {
  tenon::check(crcs_.size() == num_blocks(bytes.size()), "a checksum for every block");
}

void BlockChecks::check(std::span<const std::byte> part) const {
  if (part.empty()) return;
  const auto begin = static_cast<size_t>(part.data() - bytes_.data());
  for (size_t block = begin / kBlockBytes; block <= (begin + part.size() - 1) / kBlockBytes; ++block) {
    if (!good_[block].load(std::memory_order_relaxed)) check_block(block);
  }
}

void BlockChecks::check_block(size_t block) const {
  const size_t begin = block * kBlockBytes;
  const auto bytes = bytes_.subspan(begin, std::min(kBlockBytes, bytes_.size() - begin));
  if (crc32c(bytes) != crcs_[block]) {
    throw Error(ErrorCode::damaged, fmt::format("the tokens from byte {} to {} have changed since they were indexed",
                                                begin, begin + bytes.size()))
        .at(path_)
        .hint("restore the file from a copy, or run `tenon data prepare` again");
  }
  const int64_t most = width_ == 2 ? largest<uint16_t>(bytes) : largest<uint32_t>(bytes);
  if (most >= vocab_size_) {
    throw Error(ErrorCode::damaged,
                fmt::format("a token outside the vocabulary from byte {} to {}", begin, begin + bytes.size()))
        .at(path_)
        .got(std::to_string(most))
        .expected(fmt::format("below {}", vocab_size_))
        .hint("run `tenon data prepare` again");
  }
  good_[block].store(true, std::memory_order_relaxed);
}

}  // namespace tenon
