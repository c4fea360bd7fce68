#include "tenon/aot/saved_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tenon/ir/op_def.h"
#include "tenon/ir/ops/control.h"
#include "tenon/ir/ops/manual.h"

namespace tenon {
namespace {

class SavedArrays {
 public:
  explicit SavedArrays(const Trace& trace) : trace_(trace) {}

  void read(RegionId region, int64_t num_devices) {
    std::set<ValueId> read_by_scans;
    for (const OpId id : trace_.region(region).ops) {
      const OpInfo& op = trace_.op(id);
      if (is_scan(op)) add_operands(op, read_by_scans);
      for (const RegionId inner : op.regions) read(inner, is_manual(op) ? 1 : num_devices);
    }
    for (const OpId id : trace_.region(region).ops) {
      if (is_scan(trace_.op(id))) add_stacks(trace_.op(id), read_by_scans, num_devices);
    }
  }

  PeakMemory take() {
    std::stable_sort(out_.buffers.begin(), out_.buffers.end(), [](auto& a, auto& b) { return a.bytes > b.bytes; });
    return std::move(out_);
  }

 private:
  void add_operands(const OpInfo& scan, std::set<ValueId>& read) const {
    read.insert(scan.operands.begin(), scan.operands.end());
    for (const RegionId body : scan.regions) {
      for (const ValueId value : captures(trace_, body)) read.insert(value);
    }
  }

  void add_stacks(const OpInfo& scan, const std::set<ValueId>& read, int64_t num_devices) {
    const RegionInfo& body = trace_.region(scan.regions[0]);
    for (auto i = static_cast<size_t>(scan_num_carry(scan)); i < scan.results.size(); ++i) {
      if (!read.contains(scan.results[i])) continue;
      const int64_t bytes = byte_size(trace_.value(scan.results[i]).type) / num_devices;
      out_.buffers.push_back({bytes, maker_of(scan, body.results[i]), BufferRole::saved_activation});
      out_.bytes += bytes;
    }
  }

  // As compilers are told of ops: "decoder.layers/dot_general". What the step before carried over was made there.
  std::string maker_of(const OpInfo& scan, ValueId value) const {
    const RegionInfo& body = trace_.region(scan.regions[0]);
    const ValueInfo* info = &trace_.value(value);
    const bool is_carry = info->def == kNoId && info->region == scan.regions[0] && info->index >= 1 &&
                          info->index <= static_cast<uint32_t>(scan_num_carry(scan));
    if (is_carry) info = &trace_.value(body.results[info->index - 1]);
    if (info->def == kNoId) return "";
    const OpInfo& op = trace_.op(info->def);
    return fmt::format("{}/{}", trace_.path_of(op), op.def->name);
  }

  const Trace& trace_;
  PeakMemory out_;
};

}  // namespace

PeakMemory estimate_saved(const Graph& graph, int64_t num_devices) {
  SavedArrays arrays(*graph.trace);
  arrays.read(graph.root, num_devices);
  return arrays.take();
}

}  // namespace tenon
