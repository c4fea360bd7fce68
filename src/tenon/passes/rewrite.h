// The walk that rewriting passes share: over all ops in order, each of which is kept or replaced.
#pragma once

#include <unordered_map>
#include <vector>

#include "tenon/ir/trace.h"

namespace tenon {

// Replaced ops are gone from their region; what only they read is left to dead-code elimination.
class Rewriter {
 public:
  explicit Rewriter(Graph& graph) : graph_(graph) {}
  virtual ~Rewriter() = default;
  Rewriter(const Rewriter&) = delete;

  void run();

 protected:
  Trace& trace() { return *graph_.trace; }
  // What stands for the results of `op` from now on; empty: the op stays. Its operands and regions have been rewritten.
  // What is traced here stands in the op's place under its mark, and is visited next.
  virtual std::vector<Tensor> visit(OpId op) = 0;
  // Before and after the ops of a region; `owner` is the op it belongs to, kNoId of the root.
  virtual void enter(OpId /*owner*/) {}
  virtual void leave() {}

 private:
  void region(RegionId id, OpId owner);
  void op(OpId id, int depth);
  ValueId now(ValueId v) const;

  Graph& graph_;
  std::unordered_map<ValueId, ValueId> replaced_;
};

}  // namespace tenon
