// What the file layer does to the disk, told to a test: enough to put together what a crash may leave behind.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace tenon {

struct FileOp {
  enum class Kind : uint8_t { make_dir, create, write, sync_file, sync_dir, rename, exchange, remove };
  Kind kind;
  std::string path;
  std::string to = {};     // of rename and exchange
  std::string bytes = {};  // of write: what was added at the end
};

// Called behind every change that was made, by the thread that made it. An empty one removes it. For tests.
using FileObserver = std::function<void(const FileOp&)>;
void set_file_observer(FileObserver observer);

}  // namespace tenon
