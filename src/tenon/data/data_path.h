// Paths of data in errors.
#pragma once

#include <string>

namespace tenon {

// A file's path with a slash in it, "text" as "./text": Error::prefix knows it from a part of a config's path by that.
inline std::string data_path(const std::string& path) {
  return path.empty() || path.find('/') != std::string::npos ? path : "./" + path;
}

}  // namespace tenon
