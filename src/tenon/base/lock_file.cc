#include "tenon/base/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "tenon/base/file.h"
#include "tenon/base/text.h"
#include "tenon/base/utf8.h"

namespace tenon {
namespace {

// "process 123 on host", from what the holder wrote.
std::string holder(const std::string& path) {
  const Result<std::string> text = read_file(path, 512);
  if (!text.ok()) return "another process";
  const std::vector<std::string> words = split(*text, ' ');
  if (words.size() != 2 || !parse_int(words[0]).ok() || !is_utf8(words[1])) return "another process";
  return "process " + words[0] + " on " + words[1];
}

std::string own_name() {
  std::array<char, 256> host{};
  const bool known = ::gethostname(host.data(), host.size() - 1) == 0 && host[0] != '\0';
  return std::to_string(::getpid()) + " " + (known ? host.data() : "unknown");
}

// 0, or what went wrong.
int lock(const FileDescriptor& fd, int how) {
  for (;;) {
    if (::flock(fd.get(), how | LOCK_NB) == 0) return 0;
    if (errno != EINTR) return errno;
  }
}

// Whether it is still the file of that name: its last holder may have removed it.
bool is_at(const std::string& path, const FileDescriptor& fd) {
  struct stat open{}, named{};
  return ::fstat(fd.get(), &open) == 0 && ::stat(path.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

}  // namespace

Result<LockFile> LockFile::acquire(const std::string& path) {
  // Who only looks (is_held) has it for a moment.
  constexpr int kTries = 5;
  for (int i = 0; i < kTries; ++i) {
    if (i > 0) ::usleep(20'000);
    Result<FileDescriptor> fd = FileDescriptor::open(path, O_RDWR | O_CREAT);
    if (!fd.ok()) return fd.error();
    const int error = lock(*fd, LOCK_EX);
    if (error == EWOULDBLOCK || (error == 0 && !is_at(path, *fd))) continue;
    if (error != 0) return system_error(error, "lock", path);
    const std::string id = own_name();
    const bool noted = ::ftruncate(fd->get(), 0) == 0 && ::pwrite(fd->get(), id.data(), id.size(), 0) >= 0;
    if (!noted) return system_error(errno, "write", path);
    LockFile held;
    held.fd_ = std::move(*fd);
    return held;
  }
  return Error(ErrorCode::io, holder(path) + " is using this directory")
      .at(path)
      .hint("stop that run, or choose another directory");
}

bool LockFile::is_held(const std::string& path) {
  const Result<FileDescriptor> fd = FileDescriptor::open(path, O_RDONLY);
  return fd.ok() && lock(*fd, LOCK_SH) == EWOULDBLOCK;
}

}  // namespace tenon
