// What a device's memory holds when the optimized program needs most of it: our own account, by who made what.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/pjrt/hlo_module.h"

namespace tenon {

enum class BufferRole : uint8_t {
  gradient,          // made by the model, read by the learner
  saved_activation,  // written by one loop and read by another: what the forward pass keeps for the backward one
  temporary,         // all else
};
// "gradients", "saved activations", "temporaries".
std::string_view to_string(BufferRole role);

struct LiveBuffer {
  int64_t bytes = 0;
  std::string op;  // where it was made: "decoder.layers/dot_general"; "" where the compiler doesn't say
  BufferRole role = BufferRole::temporary;
};

struct PeakMemory {
  int64_t bytes = 0;                // of temporaries in device memory
  std::vector<LiveBuffer> buffers;  // that are live then, largest first
  int64_t of(BufferRole role) const;
};

// Walks the instructions in their order and sums what is live: neither arguments nor results, nor what lies in other
// memories. A loop's carry is one set of buffers, slices are updated in place, an instruction may take the place of an
// operand that ends with it. No array counts for more than 4 TiB. Compilers pack buffers and move instructions after
// this program was printed, so their own count of temporaries may differ.
PeakMemory find_peak(const pjrt::HloModule& module);

// "decoder.layers" of "decoder.layers/dot_general", of "decoder/manual/decoder.layers/dot_general", which is in a
// manual region, and of "(decoder.layers/dot_general:decoder.norm/mul)", which compilers made of two ops: that of the
// first.
std::string_view module_of(std::string_view op);

}  // namespace tenon
