// TOML files that are laid over an experiment, and the files they are based on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/config/value.h"

namespace tenon {

// What a file says and what it stands on: `base = "common.toml"` (a path from the file's own folder) is laid first;
// `base = "llama2_7b"`, an experiment, is what the file is made for.
struct OverlayFile {
  std::string experiment;     // "" when none is named
  std::string where;          // the line that names it, "my.toml:1"
  std::vector<Value> tables;  // without `base`, the innermost first
};

// Throws, with file and line, `not_found` for a missing file or base, `invalid_argument` for bases that form a cycle or
// are more than 20, `wrong_type` for a base that is no string, and what parse_toml throws.
OverlayFile read_overlay(const std::string& path);

// Whether a name on a command line, or a base, is a file: it ends in ".toml".
bool is_overlay_file(std::string_view name);

}  // namespace tenon
