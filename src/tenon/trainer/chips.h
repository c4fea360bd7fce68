// Chips: what neither compilers nor devices say of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/result.h"

namespace tenon {

struct Chip {
  std::string name;          // as targets begin with: "v5p", "h100"
  int64_t memory_bytes = 0;  // what a program may use of one device's memory
  std::string source;        // where that is from
  std::string device_kind;   // as a device of it says what it is
  double peak_flops = 0;     // of one device, a second: dense, bf16
  std::string peak_source;
};

class ChipTable {
 public:
  // A TOML table for each chip, with the keys of chips.toml. Errors at `filename`:line: what parse_toml gives,
  // `missing_field`, `unknown_name`, `wrong_type`, `invalid_argument`.
  static Result<ChipTable> parse(std::string_view text, const std::string& filename);
  // The chips Tenon knows: chips.toml, compiled in.
  static const ChipTable& builtin();

  // By name.
  const std::vector<Chip>& chips() const { return chips_; }
  // Throws `unknown_name` with the list and the nearest names.
  const Chip& find(std::string_view name) const;
  // The one that a device says it is; null for a device of no chip we know.
  const Chip* find_device(std::string_view device_kind) const;

 private:
  std::vector<Chip> chips_;
};

}  // namespace tenon
