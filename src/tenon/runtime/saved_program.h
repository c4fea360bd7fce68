// Compiled programs in files, for a machine that doesn't compile.
#pragma once

#include <string>
#include <string_view>

#include "tenon/base/result.h"

namespace tenon {

struct SavedProgram {
  // What the compiled bytes depend on.
  struct Key {
    std::string program;  // sha256 of its text
    std::string flags;    // sha256 of the compile options
    std::string plugin;   // sha256 of its file, and its version
    std::string chip;     // "256 x TPU v5"
    bool operator==(const Key&) const = default;
  };
  Key key;
  std::string bytes;  // as the plugin serialized them

  // The file: a line that says what it is, a line for each part of the key, the bytes' sha256, then the bytes.
  Status write(const std::string& path) const;
  // Errors: `not_found`, `damaged` for a file that isn't one or isn't whole.
  static Result<SavedProgram> read(const std::string& path);
  // Only what was compiled from `expected`; `incompatible`, naming the first part that differs, else.
  static Result<SavedProgram> read(const std::string& path, const Key& expected);
};

}  // namespace tenon
