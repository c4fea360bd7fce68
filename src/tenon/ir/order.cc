#include "tenon/ir/order.h"

#include <unordered_set>

namespace tenon {
namespace {

// Without recursion: programs are deep.
class Walk {
 public:
  Walk(const Trace& trace, RegionId region) : trace_(trace), region_(region) {
    const size_t count = trace.region(region).ops.size();
    seen_.reserve(count);
    order_.reserve(count);
  }

  void from(ValueId v) {
    const ValueInfo& info = trace_.value(v);
    if (info.region == region_ && info.def != kNoId) from_op(info.def);
  }

  void from_op(OpId op) {
    enter(op);
    while (!stack_.empty()) {
      Frame& top = stack_.back();
      const std::vector<ValueId>& operands = trace_.op(top.op).operands;
      if (top.next == operands.size() + top.captured.size()) {
        order_.push_back(top.op);
        stack_.pop_back();
        continue;
      }
      const size_t i = top.next++;
      const ValueInfo& read = trace_.value(i < operands.size() ? operands[i] : top.captured[i - operands.size()]);
      if (read.region == region_ && read.def != kNoId) enter(read.def);
    }
  }

  std::vector<OpId> take() { return std::move(order_); }

 private:
  struct Frame {
    OpId op;
    size_t next;
    std::vector<ValueId> captured;
  };

  void enter(OpId op) {
    if (!seen_.insert(op).second) return;
    Frame& frame = stack_.emplace_back(Frame{op, 0, {}});
    for (const RegionId inner : trace_.op(op).regions) {
      const std::vector<ValueId> more = captures(trace_, inner);
      frame.captured.insert(frame.captured.end(), more.begin(), more.end());
    }
  }

  const Trace& trace_;
  RegionId region_;
  std::unordered_set<OpId> seen_;
  std::vector<Frame> stack_;
  std::vector<OpId> order_;
};

}  // namespace

std::vector<OpId> canonical_order(const Trace& trace, RegionId region) {
  Walk walk(trace, region);
  for (const ValueId v : trace.region(region).results) walk.from(v);
  for (const OpId op : trace.region(region).ops) walk.from_op(op);
  return walk.take();
}

}  // namespace tenon
