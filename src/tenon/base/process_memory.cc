#include "tenon/base/process_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "tenon/base/file_descriptor.h"
#include "tenon/base/text.h"

namespace tenon {

// The second number of /proc/self/statm, in pages.
std::optional<uint64_t> resident_bytes() {
  const Result<FileDescriptor> fd = FileDescriptor::open("/proc/self/statm", O_RDONLY);
  if (!fd.ok()) return std::nullopt;
  std::array<char, 256> text;
  const ssize_t count = ::read((*fd).get(), text.data(), text.size());
  if (count <= 0) return std::nullopt;
  const std::vector<std::string> words = split({text.data(), static_cast<size_t>(count)}, ' ');
  if (words.size() < 2) return std::nullopt;
  const Result<int64_t> pages = parse_int(words[1]);
  if (!pages.ok()) return std::nullopt;
  return static_cast<uint64_t>(*pages) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace tenon
