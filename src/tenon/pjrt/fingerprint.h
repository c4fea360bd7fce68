// What identifies the bytes of a plugin.
#pragma once

#include <string>

#include "tenon/base/result.h"

namespace tenon::pjrt {

// The folder for what can be made again: $TENON_CACHE_DIR, else $XDG_CACHE_HOME/tenon, else ~/.cache/tenon, else a
// folder in the system's place for temporary files.
std::string cache_folder();

// sha256 of a file. Plugins are hundreds of megabytes, so it is remembered in `cache_folder()` as long as path, size
// and time of change stay the same.
Result<std::string> file_fingerprint(const std::string& path);

}  // namespace tenon::pjrt
