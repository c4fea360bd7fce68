// Types of machines that are known, to hold mesh rules against.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/result.h"

namespace tenon {

struct MachineType {
  std::string instance;  // "tpu-v5p-512"
  std::string chip;      // "v5p"
  int64_t devices = 0;
  // No machine, but a rule that is chosen by this name.
  bool is_choice = false;
  bool operator==(const MachineType&) const = default;
};

// A table for each kind, with the keys of machines.toml; by kind, then as sizes stand there. Errors with the path in
// the file, and what parse_toml gives.
Result<std::vector<MachineType>> parse_machine_types(std::string_view text, const std::string& filename);
// Those of machines.toml, compiled in.
const std::vector<MachineType>& builtin_machine_types();

// Throws `invalid_argument` when `instance` is the type of a machine of another chip than `chip`, or of another number
// of devices: its mesh rule is for that one. Types that aren't known, and those that are chosen by name, are for any.
void check_instance(const std::string& instance, const std::string& chip, int64_t devices);

}  // namespace tenon
