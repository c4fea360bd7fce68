// Compiled programs kept on disk, so that the same program on the same machine is compiled once.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tenon/base/result.h"
#include "tenon/pjrt/compile_options.h"
#include "tenon/runtime/backend.h"

namespace tenon {

// One file per entry, each with its length and sha256. Several processes may share a folder. It never grows by more
// than the programs compiled; deleting files or the folder at any time is fine.
class CompileCache {
 public:
  // $TENON_CACHE_DIR/compile or ~/.cache/tenon/compile.
  static std::string default_folder();
  explicit CompileCache(std::string folder = default_folder()) : folder_(std::move(folder)) {}

  const std::string& folder() const { return folder_; }
  // The bytes of an entry; nothing when there is none. A damaged entry is removed and counts as none.
  std::optional<std::string> load(const std::string& key) const;
  // Writes an entry, whole or not at all.
  Status store(const std::string& key, std::string_view bytes) const;
  void remove(const std::string& key) const;

 private:
  std::string path(const std::string& key) const;
  std::string folder_;
};

// Everything the compiled bytes depend on, hashed: program, options, the plugin's file, its versions, the kind and
// number of devices, and for the CPU the instruction sets of this machine.
Result<std::string> compile_cache_key(const Backend& backend, std::string_view program,
                                      const pjrt::CompileOptions& options);

}  // namespace tenon
