#include "tenon/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "tenon/base/file_descriptor.h"

namespace tenon {

Result<MappedFile> MappedFile::open(const std::string& path) {
  const Result<FileDescriptor> fd = FileDescriptor::open(path, O_RDONLY | O_NONBLOCK);
  if (!fd.ok()) return fd.error();
  struct stat info{};
  if (::fstat((*fd).get(), &info) != 0) return system_error(errno, "look at", path);
  if (!S_ISREG(info.st_mode)) return Error(ErrorCode::io, "not a regular file").at(path);
  MappedFile file;
  file.path_ = path;
  file.size_ = static_cast<size_t>(info.st_size);
  if (file.size_ == 0) return file;  // mmap refuses length 0
  void* address = ::mmap(nullptr, file.size_, PROT_READ, MAP_SHARED, (*fd).get(), 0);
  if (address == MAP_FAILED) return system_error(errno, "map into memory", path);
  file.address_ = address;
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      address_(std::exchange(other.address_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(address_, other.address_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (address_ != nullptr) ::munmap(address_, size_);
}

}  // namespace tenon
