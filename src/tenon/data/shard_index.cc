#include "tenon/data/shard_index.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <limits>
#include <string_view>

#include "tenon/base/hash.h"
#include "tenon/data/block_checks.h"

namespace tenon {
namespace {

static_assert(std::endian::native == std::endian::little, "tokens and indexes are little-endian");

constexpr std::string_view kMagic = "TENONIDX";
constexpr uint32_t kVersion = 1;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t token_bytes;
  uint64_t num_documents;
  uint64_t num_tokens;
  uint64_t text_bytes;
};
static_assert(sizeof(Header) == 40);

template <class T>
void append(std::string& out, const T* values, size_t count) {
  out.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

template <class T>
std::vector<T> read_values(std::span<const std::byte> bytes, size_t at, size_t count) {
  std::vector<T> out(count);
  if (count > 0) std::memcpy(out.data(), bytes.data() + at, count * sizeof(T));
  return out;
}

Error damaged(const std::string& why) {
  return Error(ErrorCode::damaged, "the index is damaged: " + why)
      .hint("restore it from a copy, or run `tenon data prepare` again");
}

// Bytes of an index with this header, or nothing when that overflows.
Result<uint64_t> length_of(const Header& header) {
  uint64_t token_bytes = 0, ends = 0, total = 0;
  const bool overflows = __builtin_mul_overflow(header.num_tokens, uint64_t{header.token_bytes}, &token_bytes) ||
                         __builtin_mul_overflow(header.num_documents, uint64_t{8}, &ends) ||
                         __builtin_add_overflow(ends, BlockChecks::num_blocks(token_bytes) * 4, &total) ||
                         __builtin_add_overflow(total, uint64_t{sizeof(Header) + 4}, &total);
  if (overflows || token_bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return damaged(fmt::format("{} documents and {} tokens", header.num_documents, header.num_tokens));
  }
  return total;
}

Status check_ends(const std::vector<uint64_t>& ends, uint64_t num_tokens) {
  uint64_t before = 0;
  for (size_t i = 0; i < ends.size(); ++i) {
    if (ends[i] <= before)
      return damaged(fmt::format("document {} ends at {}, where it begins at {}", i, ends[i], before));
    before = ends[i];
  }
  if (before != num_tokens) return damaged(fmt::format("documents of {} tokens where it says {}", before, num_tokens));
  return {};
}

}  // namespace

std::string format_shard_index(const ShardIndex& index) {
  Header header{{}, kVersion, index.token_bytes, index.ends.size(), index.num_tokens(), index.text_bytes};
  std::memcpy(header.magic, kMagic.data(), kMagic.size());
  std::string out;
  append(out, &header, 1);
  append(out, index.ends.data(), index.ends.size());
  append(out, index.block_crcs.data(), index.block_crcs.size());
  const uint32_t crc = crc32c(out);
  append(out, &crc, 1);
  return out;
}

Result<ShardIndex> parse_shard_index(std::span<const std::byte> bytes) {
  Header header{};
  if (bytes.size() < sizeof(header) + 4) return damaged(fmt::format("it has {} bytes", bytes.size()));
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (std::string_view(header.magic, kMagic.size()) != kMagic) return damaged("it doesn't start as one");
  if (header.version != kVersion) {
    return Error(ErrorCode::unsupported, "the index is of another version of the format")
        .got(std::to_string(header.version))
        .expected(std::to_string(kVersion));
  }
  if (header.token_bytes != 2 && header.token_bytes != 4)
    return damaged(fmt::format("tokens of {} bytes", header.token_bytes));
  const Result<uint64_t> length = length_of(header);
  if (!length.ok()) return length.error();
  if (*length != bytes.size()) return damaged(fmt::format("{} bytes where it says {}", bytes.size(), *length));
  uint32_t crc = 0;
  std::memcpy(&crc, bytes.data() + bytes.size() - 4, 4);
  if (crc != crc32c(bytes.first(bytes.size() - 4))) return damaged("its checksum doesn't fit");
  ShardIndex index{header.token_bytes, header.text_bytes, {}, {}};
  index.ends = read_values<uint64_t>(bytes, sizeof(header), header.num_documents);
  if (const Status good = check_ends(index.ends, header.num_tokens); !good.ok()) return good.error();
  index.block_crcs = read_values<uint32_t>(bytes, sizeof(header) + header.num_documents * 8,
                                           BlockChecks::num_blocks(header.num_tokens * header.token_bytes));
  return index;
}

}  // namespace tenon
