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

constexpr double kFloat = 4;
// Eigen packs operands in slices of so many along the contraction, of which two are there at once, or what there is.
constexpr double kSlice = 320;
constexpr double kRuntime = 1024 * 1024;        // measured
constexpr double kMost = 1e18, kFinite = 1e60;  // counted at most

double round_up(int64_t n, double to) { return std::ceil(static_cast<double>(n) / to) * to; }

double elements(const HloShape& shape) {
  return std::accumulate(shape.dims.begin(), shape.dims.end(), 1.0,
                         [](double n, int64_t d) { return std::min(n * static_cast<double>(d), kFinite); });
}

// Of one product [M,K] x [K,N], whose K is what its sizes leave.
double packed_bytes(const HloShape& lhs, const HloShape& rhs, const HloShape& out) {
  const double a = elements(lhs), b = elements(rhs);
  const double depth = std::sqrt(a * b / std::max(1.0, elements(out)));
  return kFloat * (a + b) * (depth > kSlice ? 2 * kSlice / depth : 1);
}

double products(const HloComputation& c) {
  constexpr size_t kAtOnce = 3;
  std::vector<double> bytes;
  for (const HloInstruction& i : c.instructions) {
    if (i.opcode != "dot" || i.operands.size() < 2) continue;
    bytes.push_back(packed_bytes(c.instructions[i.operands[0]].shape, c.instructions[i.operands[1]].shape, i.shape));
  }
  std::ranges::sort(bytes, std::greater());
  bytes.resize(kAtOnce);
  return std::accumulate(bytes.begin(), bytes.end(), 0.0);
}

// Of one thread: keys and values of a head [S,H] and their cotangents in f32, packed too, and blocks of queries.
double attention(const HloComputation& c) {
  constexpr double kCopies = 7, kBlocks = 5, kQueries = 48, kKeys = 64, kLanes = 16;
  double most = 0;
  for (const HloInstruction& i : c.instructions) {
    if (i.opcode != "custom-call" || i.operands.size() < 3) continue;
    const Dims& key = c.instructions[i.operands[1]].shape.dims;
    if (key.size() != 4) continue;
    const double S = round_up(key[2], kKeys), H = round_up(key[3], kLanes);
    most = std::max(most, kFloat * (kCopies * S * H + kBlocks * kQueries * H + 2 * kQueries * kKeys));
  }
  return most;
}

}  // namespace

int64_t cpu_workspace(const HloModule& module, int64_t num_devices, int64_t num_cores) {
  double most = 0, kept = 0;
  for (const HloComputation& c : module.computations) {
    most = std::max(most, products(c));
    kept = std::max(kept, attention(c));
  }
  const auto threads = static_cast<double>(std::max(num_devices, num_cores));
  const double bytes = std::round(most) + std::floor(kept * threads / static_cast<double>(num_devices)) + kRuntime;
  return static_cast<int64_t>(std::min(bytes, kMost));
}

}  // namespace tenon
