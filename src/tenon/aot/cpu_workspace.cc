#include "tenon/aot/cpu_workspace.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

namespace tenon {
namespace {

using pjrt::HloComputation;
using pjrt::HloInstruction;
using pjrt::HloModule;
using pjrt::HloShape;

constexpr int64_t kFloat = 4;
// Eigen packs operands in slices of so many along the contraction, of which two are there at once, or what there is.
constexpr double kSlice = 320;
constexpr int64_t kRuntime = 1024 * 1024;  // measured

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// Of one product [M,K] x [K,N], whose K is what its sizes leave.
double packed_bytes(const HloShape& lhs, const HloShape& rhs, const HloShape& out) {
  const auto a = static_cast<double>(num_elements(lhs.dims)), b = static_cast<double>(num_elements(rhs.dims));
  const double depth = std::sqrt(a * b / static_cast<double>(std::max<int64_t>(1, num_elements(out.dims))));
  return kFloat * (a + b) * (depth > kSlice ? 2 * kSlice / depth : 1);
}

double products(const HloComputation& c) {
  constexpr size_t kAtOnce = 3;
  std::vector<double> bytes;
  for (const HloInstruction& i : c.instructions) {
    if (i.opcode != "dot") continue;
    bytes.push_back(packed_bytes(c.instructions[i.operands[0]].shape, c.instructions[i.operands[1]].shape, i.shape));
  }
  std::ranges::sort(bytes, std::greater());
  bytes.resize(kAtOnce);
  return std::accumulate(bytes.begin(), bytes.end(), 0.0);
}

// Of one thread: keys and values of a head [S,H] and their cotangents in f32, packed too, and blocks of queries.
int64_t attention(const HloComputation& c) {
  constexpr int64_t kCopies = 7, kBlocks = 5, kQueries = 48, kKeys = 64, kLanes = 16;
  int64_t most = 0;
  for (const HloInstruction& i : c.instructions) {
    if (i.opcode != "custom-call" || i.operands.size() < 3) continue;
    const Dims& key = c.instructions[i.operands[1]].shape.dims;
    if (key.size() != 4) continue;
    const int64_t S = round_up(key[2], kKeys), H = round_up(key[3], kLanes);
    most = std::max(most, kFloat * (kCopies * S * H + kBlocks * kQueries * H + 2 * kQueries * kKeys));
  }
  return most;
}

}  // namespace

int64_t cpu_workspace(const HloModule& module, int64_t num_devices, int64_t num_cores) {
  double most = 0;
  int64_t kept = 0;
  for (const HloComputation& c : module.computations) {
    most = std::max(most, products(c));
    kept = std::max(kept, attention(c));
  }
  return std::llround(most) + kept * std::max(num_devices, num_cores) / num_devices + kRuntime;
}

}  // namespace tenon
