// Chips: what neither compilers nor devices say of them, and what a device needs to be used.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/dtype.h"
#include "tenon/base/result.h"
#include "tenon/runtime/device_setup.h"

namespace tenon {

// Of one device; speeds in bytes or operations a second. What isn't known of a machine is 0.
struct Chip {
  std::string name;               // as targets begin with: "v5p", "h100"
  std::string platform;           // whose plugin compiles for it, as that calls itself
  std::string device_kind;        // as a device of it says what it is; "": not known
  int64_t memory_bytes = 0;       // what a program may use
  double memory_speed = 0;        // to read it
  std::map<DType, double> peaks;  // products of arrays of this dtype, dense, at the compilers' default precision
  double link_speed = 0;          // one link to another device, one direction
  int64_t devices_per_chip = 1;
  int64_t host_devices = 0;  // how many devices the links reach; 0: the whole slice
  double network_speed = 0;  // its share of the network between hosts or slices, one direction
  int64_t slice_chips = 0;   // of a TPU, those of a pod: no slice has more; 0: not known
  std::string memory_source, bandwidth_source, peak_source, link_source, network_source, slice_source;
  DeviceSetup setup;

  // Of `dtype`; of one without a number, bf16's.
  double peak(DType dtype) const;
  // In bf16; for MFU.
  double peak_flops() const { return peak(DType::bf16); }
  // The type of a machine of so many devices, for mesh rules: "neuron-trn2-64".
  std::string instance(int64_t num_devices) const;
};

class ChipTable {
 public:
  // A TOML table for each chip, with the keys of chips.toml and those of DeviceSetup (docs/backends.md). Errors at
  // `filename`:line: what parse_toml gives, `missing_field`, `unknown_name`, `wrong_type`, `invalid_argument`.
  static Result<ChipTable> parse(std::string_view text, const std::string& filename);
  // The chips Tenon knows: chips.toml and trn2.toml, compiled in.
  static const ChipTable& builtin();

  // By name.
  const std::vector<Chip>& chips() const { return chips_; }
  // Throws `unknown_name` with the list and the nearest names.
  const Chip& find(std::string_view name) const;
  // The one that a device says it is; null for a device of no chip we know.
  const Chip* find_device(std::string_view device_kind) const;
  // With the chips of `other`, which replace those of the same name.
  ChipTable with(const ChipTable& other) const;
  ChipTable with(const Chip& chip) const;

 private:
  std::vector<Chip> chips_;
};

// The one chip that a file describes. Throws what reading the file and ChipTable::parse give, `invalid_argument` when
// it describes another number of them.
Chip read_device(const std::string& path);

}  // namespace tenon
