#include "tenon/base/process_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "tenon/base/file_descriptor.h"
#include "tenon/base/text.h"

namespace tenon {
namespace {

// The words of a small file of the kernel's; none where it can't be read.
std::vector<std::string> words_of(const std::string& path) {
  const Result<FileDescriptor> fd = FileDescriptor::open(path, O_RDONLY);
  if (!fd.ok()) return {};
  std::array<char, 256> text;
  const ssize_t count = ::read((*fd).get(), text.data(), text.size());
  if (count <= 0) return {};
  std::string_view all(text.data(), static_cast<size_t>(count));
  return split(all.substr(0, all.find('\n')), ' ');
}

}  // namespace

// The second number of /proc/self/statm, in pages.
std::optional<uint64_t> resident_bytes() {
  const std::vector<std::string> words = words_of("/proc/self/statm");
  if (words.size() < 2) return std::nullopt;
  const Result<int64_t> pages = parse_int(words[1]);
  if (!pages.ok()) return std::nullopt;
  return static_cast<uint64_t>(*pages) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

int64_t memory_limit() {
  const int64_t machine = int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
  const std::vector<std::string> words = words_of("/sys/fs/cgroup/memory.max");  // "max" where there is no limit
  const Result<int64_t> limit = parse_int(words.empty() ? "" : words[0]);
  return limit.ok() ? std::min(machine, *limit) : machine;
}

}  // namespace tenon
