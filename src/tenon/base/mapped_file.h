// A file's bytes in memory without reading it all.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "tenon/base/result.h"

namespace tenon {

// Read-only. The file must not be cut while it is mapped (the system would end the process): for our own data, not for
// files others may change meanwhile.
class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();
  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(address_), size_}; }

 private:
  MappedFile() = default;
  std::string path_;
  void* address_ = nullptr;
  size_t size_ = 0;
};

}  // namespace tenon
