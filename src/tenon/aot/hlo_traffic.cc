#include "tenon/aot/hlo_traffic.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>

#include "tenon/aot/hlo_runs.h"

namespace tenon {
namespace {

using pjrt::HloComputation;
using pjrt::HloInstruction;
using pjrt::HloModule;
using pjrt::HloShape;

// Those that move nothing, or whose callees do.
constexpr std::array<std::string_view, 13> kFree = {
    "parameter", "constant",  "tuple",        "get-tuple-element",    "bitcast",     "while", "conditional",
    "call",      "after-all", "partition-id", "optimization-barrier", "async-start", "domain"};

bool in_main_memory(const HloShape& shape) { return shape.memory_space == 0; }

double bytes_of(const HloShape& shape) {
  if (shape.is_tuple) {
    double sum = 0;
    for (const HloShape& m : shape.members) sum += bytes_of(m);
    return sum;
  }
  return in_main_memory(shape) ? static_cast<double>(shape.bytes()) : 0;
}

double operand_bytes(const HloComputation& c, const HloInstruction& i, size_t number) {
  return number < i.operands.size() ? bytes_of(c.instructions[i.operands[number]].shape) : 0;
}

bool slices(const HloInstruction& i) {
  return i.opcode == "dynamic-slice" || i.opcode == "slice" || i.opcode == "gather";
}

// What goes from or to `whole` when an array of this shape, wherever it lies, is cut out of it or put into it.
double bytes_of_piece(const HloShape& piece, const HloShape& whole) {
  return in_main_memory(whole) ? static_cast<double>(piece.bytes()) : 0;
}

constexpr int kMaxDepth = 20;

// The place of a fusion's parameter of this number; none: the computation's size.
size_t parameter_of(const HloComputation& c, size_t number) {
  const auto at = std::find_if(c.instructions.begin(), c.instructions.end(), [&](const HloInstruction& i) {
    return i.opcode == "parameter" && i.parameter_number == static_cast<int64_t>(number);
  });
  return static_cast<size_t>(at - c.instructions.begin());
}

// What a fusion reads of its parameter `p` (a place in `c`): all, unless it, or a fusion in it, only takes slices or
// updates it in place.
double bytes_read(const HloModule& module, const HloComputation& c, size_t p, int depth = 0) {
  const double all = bytes_of(c.instructions[p].shape);
  double sum = 0;
  for (size_t u = p + 1; u < c.instructions.size(); ++u) {
    const HloInstruction& user = c.instructions[u];
    for (size_t o = 0; o < user.operands.size(); ++o) {
      if (user.operands[o] != p) continue;
      if (o == 0 && slices(user)) {
        sum += bytes_of_piece(user.shape, c.instructions[p].shape);
      } else if (o == 0 && user.opcode == "bitcast" && depth < kMaxDepth) {
        sum += bytes_read(module, c, u, depth + 1);
      } else if (user.opcode == "fusion" && !user.called.empty() && depth < kMaxDepth) {
        const HloComputation& inner = module.computations[user.called[0]];
        const size_t q = parameter_of(inner, o);
        if (q == inner.instructions.size()) return all;
        sum += bytes_read(module, inner, q, depth + 1);
      } else if (o != 0 || user.opcode != "dynamic-update-slice") {
        return all;
      }
    }
  }
  return std::min(sum, all);
}

// What the value at `place` of a fusion's computation writes: of an update in place, the slice.
double value_bytes_written(const HloModule& module, const HloComputation& c, size_t place, int depth = 0) {
  const HloInstruction& i = c.instructions[behind_bitcasts(c, place)];
  if (i.opcode == "fusion" && !i.called.empty() && !i.shape.is_tuple && depth < kMaxDepth) {
    const HloComputation& inner = module.computations[i.called[0]];
    return std::min(value_bytes_written(module, inner, inner.root, depth + 1), bytes_of(i.shape));
  }
  if (i.opcode != "dynamic-update-slice" || i.operands.size() < 2) return bytes_of(i.shape);
  return bytes_of_piece(c.instructions[i.operands[1]].shape, i.shape);
}
double bytes_written(const HloModule& module, const HloComputation& c) {
  const HloInstruction& root = c.instructions[c.root];
  if (root.opcode != "tuple") return value_bytes_written(module, c, c.root);
  double sum = 0;
  for (const size_t o : root.operands) sum += value_bytes_written(module, c, o);
  return sum;
}

double fusion_bytes(const HloModule& module, const HloComputation& inner) {
  double sum = bytes_written(module, inner);
  for (size_t p = 0; p < inner.instructions.size(); ++p) {
    if (inner.instructions[p].opcode == "parameter") sum += bytes_read(module, inner, p);
  }
  return sum;
}

}  // namespace

double traffic_of(const HloModule& module, const HloComputation& c, const HloInstruction& i) {
  if (std::find(kFree.begin(), kFree.end(), i.opcode) != kFree.end() || i.opcode.ends_with("-done")) return 0;
  if (i.opcode == "fusion" && !i.called.empty()) return fusion_bytes(module, module.computations[i.called[0]]);
  if (slices(i) && !i.operands.empty()) {
    return bytes_of_piece(i.shape, c.instructions[i.operands[0]].shape) + bytes_of(i.shape);
  }
  if (i.opcode == "dynamic-update-slice" && i.operands.size() > 1) {
    return operand_bytes(c, i, 1) + bytes_of_piece(c.instructions[i.operands[1]].shape, i.shape);
  }
  // What is started has its operands in its shape, beside its results; but for an all-reduce.
  const bool has_operands = i.opcode.ends_with("-start") && i.opcode != "all-reduce-start" && i.shape.is_tuple;
  double sum = bytes_of(i.shape);
  for (size_t o = 0; o < i.operands.size() && !has_operands; ++o) sum += operand_bytes(c, i, o);
  return sum;
}

std::set<size_t> inner_computations(const HloModule& module) {
  std::set<size_t> out;
  for (const HloComputation& c : module.computations) {
    for (const HloInstruction& i : c.instructions) {
      if (!runs_callees(i)) out.insert(i.called.begin(), i.called.end());
    }
  }
  return out;
}

double count_memory_traffic(const HloModule& module) {
  const HloRuns runs = count_runs(module);
  const std::set<size_t> inner = inner_computations(module);
  double sum = 0;
  for (size_t c = 0; c < module.computations.size(); ++c) {
    if (runs.times[c] == 0 || inner.contains(c)) continue;
    double once = 0;
    for (const HloInstruction& i : module.computations[c].instructions) {
      once += traffic_of(module, module.computations[c], i);
    }
    sum += runs.times[c] * once;
  }
  return sum;
}

}  // namespace tenon
