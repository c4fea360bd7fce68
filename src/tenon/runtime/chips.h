// Chips: what neither compilers nor devices say of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/dtype.h"
#include "tenon/base/result.h"

namespace tenon {

// Of one device; speeds in bytes or operations a second. What isn't known of a machine is 0.
struct Chip {
  std::string name;               // as targets begin with: "v5p", "h100"
  std::string platform;           // whose plugin compiles for it; "none": there is none
  std::string device_kind;        // as a device of it says what it is; "": not known
  int64_t memory_bytes = 0;       // what a program may use
  double memory_speed = 0;        // to read it
  std::map<DType, double> peaks;  // products of arrays of this dtype, dense, at the compilers' default precision
  double link_speed = 0;          // one link to another device, one direction
  int64_t devices_per_chip = 1;
  int64_t host_devices = 0;  // how many devices the links reach; 0: the whole slice
  double network_speed = 0;  // its share of the network between hosts or slices, one direction
  std::string memory_source, bandwidth_source, peak_source, link_source, network_source;

  // Of `dtype`; of one without a number, bf16's.
  double peak(DType dtype) const;
  // In bf16; for MFU.
  double peak_flops() const { return peak(DType::bf16); }
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
  // With the chips of `other`, which replace those of the same name.
  ChipTable with(const ChipTable& other) const;

 private:
  std::vector<Chip> chips_;
};

}  // namespace tenon
