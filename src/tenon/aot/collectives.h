// Data that moves between devices in one step, read from the optimized program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/mesh.h"
#include "tenon/pjrt/hlo_module.h"

namespace tenon {

// All collectives of one kind among the same axes.
struct CollectiveTotal {
  std::string kind;  // "all-gather", "all-reduce", "all-to-all", …; "send": what hosts carry
  // The mesh axes along which the devices of a group differ: "fsdp", "data+fsdp". "part of fsdp": some of them.
  // "slices": between those, as hosts arrange it.
  std::string axes;
  int64_t group_size = 0;
  double count = 0;  // a step, loops' trips included
  // On each device, of the array in full: what an all-gather gives, what a reduce-scatter, all-reduce, all-to-all or
  // permutation takes.
  double bytes = 0;
  // What each device must send at least, however the work is arranged: over links of its host or slice, and over the
  // network between those.
  double link_bytes = 0, network_bytes = 0;
};

struct CollectiveReport {
  std::vector<CollectiveTotal> totals;  // most bytes first
  int64_t unknown_loops = 0;            // whose bodies were counted once
  double link_bytes() const;
  double network_bytes() const;
};

// "all-gather" of the opcodes "all-gather" and "all-gather-start"; "" of what moves nothing between devices, and of the
// end of what was started.
std::string_view collective_kind(std::string_view opcode);

// Devices are numbered as in the mesh; `island` of the machine's, one behind another, are linked: those of a host or
// slice (0: all). A collective that is started and awaited apart counts once. With groups of n devices, k of them in an
// island, an all-gather of P bytes must bring each island P (1 - k/n) bytes through its k devices, and each device the
// rest; a reduce-scatter is the same backwards, an all-reduce both. `hosts_carry`: what goes between islands stands in
// the program as sends to hosts and receipts from them, as libtpu writes all that crosses slices, and the program is
// that of a slice, in whose order it numbers devices; each device must send at least what it hands to its host, or gets
// from it.
CollectiveReport count_collectives(const pjrt::HloModule& module, const Mesh& mesh, int64_t island = 0,
                                   bool hosts_carry = false);

}  // namespace tenon
