#include "tenon/runtime/largest_array.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/base/text.h"
#include "tenon/ir/op_def.h"
#include "tenon/ir/ops/manual.h"

namespace tenon {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 50, kMostBytesOnCpu = int64_t{1} << 37;

// Into how many pieces the results of `op` are split, which is in code that each of `parts` groups of devices runs on
// its own arrays.
int64_t pieces(const OpInfo& op, const Mesh& mesh, int64_t parts) {
  if (op.def->name != "sharding_constraint") return mesh.num_devices() / parts;
  int64_t out = 1;
  for (const Axis& axis : op.attrs.spec("spec").dims()) out *= mesh.shards(axis);
  return out;
}

void find(const Trace& trace, RegionId region, const Mesh& mesh, int64_t parts, LargestArray& largest) {
  for (const OpId id : trace.region(region).ops) {
    const OpInfo& op = trace.op(id);
    for (const RegionId inner : op.regions) {
      find(trace, inner, mesh, is_manual(op) ? mesh.shards(Axis(manual_axes(op).names)) : parts, largest);
    }
    for (const TensorType& type : trace.types(op.results)) {
      const int64_t bytes = byte_size(type) / pieces(op, mesh, parts);
      if (bytes <= largest.bytes) continue;
      largest = {fmt::format("{}/{}", trace.path_of(op), op.def->name), type, bytes, mesh.num_devices()};
    }
  }
}

}  // namespace

LargestArray largest_array(const Trace& trace, RegionId region, const Mesh& mesh) {
  LargestArray largest;
  find(trace, region, mesh, 1, largest);
  return largest;
}

void check_largest(const LargestArray& largest, std::string_view platform) {
  const bool on_cpu = platform == "cpu";
  const int64_t most = on_cpu ? kMostBytesOnCpu : kMostBytes;
  if (largest.bytes <= most) return;
  throw Error(ErrorCode::out_of_memory, on_cpu ? "an array is larger than XLA's compiler for CPUs can count"
                                               : "an array is larger than any device's memory")
      .at(largest.where)
      .got(fmt::format("{} of {} on each of {} devices", format_bytes(static_cast<uint64_t>(largest.bytes)),
                       to_string(largest.type), largest.num_devices))
      .expected("at most " + format_bytes(static_cast<uint64_t>(most)))
      .hint("use a smaller batch or shorter sequences");
}

}  // namespace tenon
