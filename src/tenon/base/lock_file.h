// One writer for a directory.
#pragma once

#include <string>

#include "tenon/base/file_descriptor.h"
#include "tenon/base/result.h"

namespace tenon {

// Held while the object lives, and let go by the system when the process dies. The file itself stays, unless its holder
// removes it.
class LockFile {
 public:
  // `io`, naming the holder's process and machine, when another process (or another LockFile) holds it.
  static Result<LockFile> acquire(const std::string& path);
  // Whether anybody holds it now; false when there is no such file.
  static bool is_held(const std::string& path);

 private:
  FileDescriptor fd_;
};

}  // namespace tenon
