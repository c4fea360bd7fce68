#include "tenon/base/file_descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "tenon/base/fault.h"

namespace tenon {

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Result<FileDescriptor> FileDescriptor::open(const std::string& path, int flags, unsigned mode) {
  if (path.find('\0') != std::string::npos) {
    return Error(ErrorCode::invalid_argument, "a path can't contain a zero byte").at(path.substr(0, path.find('\0')));
  }
  for (;;) {
    errno = fault_point("file.open");
    const int fd = errno != 0 ? -1 : ::open(path.c_str(), flags | O_CLOEXEC, mode);
    if (fd >= 0) return FileDescriptor(fd);
    if (errno != EINTR) return system_error(errno, "open", path);
  }
}

Status FileDescriptor::close(const std::string& path) {
  const int fd = std::exchange(fd_, -1);
  // Linux has closed it even when interrupted: it must not be closed twice.
  if (fd < 0 || ::close(fd) == 0 || errno == EINTR) return {};
  return system_error(errno, "close", path);
}

Error system_error(int error_number, const std::string& action, const std::string& path) {
  const std::string message = "can't " + action + ": " + std::generic_category().message(error_number);
  switch (error_number) {
    case ENOENT:
      return Error(ErrorCode::not_found, message).at(path);
    case ENOSPC:
    case EDQUOT:
      return Error(ErrorCode::no_space, message).at(path).hint("free some space and try again");
    case EACCES:
    case EROFS:
      return Error(ErrorCode::io, message).at(path).hint("check who may read and write there");
    default:
      return Error(ErrorCode::io, message).at(path);
  }
}

}  // namespace tenon
