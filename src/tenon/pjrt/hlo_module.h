// A compiler's optimized program of one device (HLO), as far as reports need it: instructions in the order they run,
// their shapes, who calls whom, and which devices a collective joins.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/base/result.h"
#include "tenon/base/shape.h"

namespace tenon::pjrt {

// An array with its layout, or a tuple.
struct HloShape {
  int64_t element_bits = 0;  // 0 for tokens and opaque values
  Dims dims;
  Dims minor_to_major;            // empty: row-major
  Dims tile;                      // the outermost tile of the layout; empty: none
  int64_t memory_space = 0;       // 0: the device's main memory; 5: the host's
  std::vector<HloShape> members;  // of a tuple
  bool is_tuple = false;

  // Bytes in memory, padded to whole tiles; of a tuple, its members'. What is larger counts as 2^59 for
  // an array, 2^62 for a tuple.
  int64_t bytes() const;
};

// Devices that a collective joins, one list a group; kept as the formula that most programs use.
struct ReplicaGroups {
  std::vector<std::vector<int64_t>> lists;
  // iota over `reshape`, transposed by `permutation`, cut into `num_groups` of `group_size`.
  int64_t num_groups = 0, group_size = 0;
  Dims reshape, permutation;

  // The groups in full. Empty: all devices are one group.
  std::vector<std::vector<int64_t>> expand() const;
};

struct HloInstruction {
  std::string opcode;
  std::string op_name;  // where it is from: "decoder.layers/dot_general", of a fusion's root; may be empty
  HloShape shape;
  std::vector<size_t> operands;  // of the same computation
  std::vector<size_t> called;    // computations: a fusion's, a loop's body and condition (in this order), branches
  int64_t parameter_number = 0, tuple_index = 0;
  std::optional<int64_t> trip_count;                        // of a loop whose trips the compiler knows
  ReplicaGroups groups;                                     // of collectives
  std::vector<std::pair<int64_t, int64_t>> source_targets;  // of collective-permute
  std::optional<int64_t> integer;                           // value of an integer constant
  Dims contracted;  // of a dot: its first operand's dimensions that it sums over
};

struct HloComputation {
  std::string name;
  std::vector<HloInstruction> instructions;  // each behind its operands; in the order they run where that is known
  size_t root = 0;
};

struct HloModule {
  std::vector<HloComputation> computations;  // each behind those it calls
  size_t entry = 0;
};

// Reads an HloModuleProtoWithConfig (xla/service/hlo.proto), which plugins call "hlo_with_config". Whatever it accepts
// is consistent: indices exist, operands come before their users and callees before their callers. Errors: `plugin`.
Result<HloModule> parse_hlo_module(std::string_view bytes);

}  // namespace tenon::pjrt
