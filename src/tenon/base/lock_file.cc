#include "tenon/base/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "tenon/base/file.h"
#include "tenon/base/text.h"

namespace tenon {
namespace {

std::string holder(const std::string& path) {
  const Result<std::string> text = read_file(path, 32);
  return text.ok() && parse_int(*text).ok() ? "process " + *text : "another process";
}

}  // namespace

Result<LockFile> LockFile::acquire(const std::string& path) {
  Result<FileDescriptor> fd = FileDescriptor::open(path, O_RDWR | O_CREAT);
  if (!fd.ok()) return fd.error();
  int locked;
  do {
    locked = ::flock(fd->get(), LOCK_EX | LOCK_NB);
  } while (locked != 0 && errno == EINTR);
  if (locked != 0 && errno == EWOULDBLOCK) {
    return Error(ErrorCode::io, holder(path) + " is using this directory")
        .at(path)
        .hint("stop that run, or choose another directory");
  }
  if (locked != 0) return system_error(errno, "lock", path);
  const std::string id = std::to_string(::getpid());
  const bool noted = ::ftruncate(fd->get(), 0) == 0 && ::pwrite(fd->get(), id.data(), id.size(), 0) >= 0;
  if (!noted) return system_error(errno, "write", path);
  LockFile lock;
  lock.fd_ = std::move(*fd);
  return lock;
}

}  // namespace tenon
