// An open file descriptor that closes itself.
#pragma once

#include <string>
#include <utility>

#include "tenon/base/result.h"

namespace tenon {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor();

  // open(2) with O_CLOEXEC added, tried again when interrupted. `mode` is for files it creates.
  static Result<FileDescriptor> open(const std::string& path, int flags, unsigned mode = 0666);

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  // Closes now; errors that only show here (a network disk, a quota) are reported.
  Status close(const std::string& path);

 private:
  int fd_ = -1;
};

// The error for a failed system call: `not_found` for a missing file, `no_space` for a full disk or quota, else `io`;
// with the path and the system's own words. `action` completes "can't …".
Error system_error(int error_number, const std::string& action, const std::string& path);

}  // namespace tenon
