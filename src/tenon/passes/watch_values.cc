#include "tenon/passes/watch_values.h"

#include "tenon/ir/op_def.h"
#include "tenon/ir/ops/control.h"
#include "tenon/ir/ops/shape.h"

namespace tenon {
namespace {

class Watcher {
 public:
  Watcher(Trace& trace, const Watch& watch) : trace_(trace), watch_(watch) {}

  // Repeats the ops of `region` at the current place, its parameters mapped already; returns what was measured, and
  // adds where that is: the number of its first array is `first`.
  std::vector<Tensor> region(RegionId region, ValueMap& map, size_t first) {
    std::vector<Tensor> rows, loops;
    const RegionInfo info = trace_.region(region);
    const auto look = [&](const std::vector<ValueId>& values) {
      for (const ValueId v : values) {
        if (!watch_.wants(v)) continue;
        places_[v] = {first, static_cast<int64_t>(rows.size())};
        rows.push_back(watch_.measure(map(trace_, v)));
      }
    };
    look(info.params);
    for (const OpId id : info.ops) {
      if (is_scan(trace_.op(id))) {
        const std::vector<Tensor> inside = scan(id, map, first + 1 + loops.size());
        loops.insert(loops.end(), inside.begin(), inside.end());
      } else {
        clone_op(trace_, id, map);
      }
      const MarkScope mark(trace_, trace_.op(id).mark);
      look(trace_.op(id).results);
    }
    std::vector<Tensor> out{rows.empty() ? zeros({DType::f32, {0, 1}})
                                         : reshape(concatenate(rows, 0), {static_cast<int64_t>(rows.size()), -1})};
    out.insert(out.end(), loops.begin(), loops.end());
    return out;
  }

  WatchedPlaces take() { return std::move(places_); }

 private:
  // The loop once more, with what is measured in it as further stacked results, which it returns.
  std::vector<Tensor> scan(OpId id, ValueMap& map, size_t first) {
    const OpInfo op = trace_.op(id);
    const RegionInfo body = trace_.region(op.regions[0]);
    const MarkScope mark(trace_, op.mark);
    const RegionId copy = trace_region(trace_, trace_.types(body.params), [&](const std::vector<Tensor>& params) {
      for (size_t i = 0; i < params.size(); ++i) map.set(body.params[i], params[i]);
      const std::vector<Tensor> measured = region(op.regions[0], map, first);
      std::vector<Tensor> results;
      for (const ValueId v : body.results) results.push_back(map(trace_, v));
      results.insert(results.end(), measured.begin(), measured.end());
      return results;
    });
    std::vector<Tensor> operands;
    for (const ValueId v : op.operands) operands.push_back(map(trace_, v));
    const std::vector<Tensor> results = trace_.emit(*op.def, std::move(operands), op.attrs, {copy});
    for (size_t i = 0; i < op.results.size(); ++i) map.set(op.results[i], results[i]);
    return {results.begin() + static_cast<int64_t>(op.results.size()), results.end()};
  }

  Trace& trace_;
  const Watch& watch_;
  WatchedPlaces places_;
};

}  // namespace

int64_t first_element(const WatchedPlace& place, const TensorType& type, std::span<const int64_t> rounds) {
  const size_t num_loops = type.dims.size() - 2;
  int64_t at = 0;
  for (size_t i = 0; i < num_loops; ++i) at = at * type.dims[i] + rounds[i];
  return (at * type.dims[num_loops] + place.row) * type.dims.back();
}

WatchedPlaces watch_values(Graph& graph, const Watch& watch) {
  Trace& trace = *graph.trace;
  const TraceScope scope(trace);
  Watcher watcher(trace, watch);
  const RegionInfo root = trace.region(graph.root);
  const RegionId old = graph.root;
  graph.root = trace_region(trace, trace.types(root.params), [&](const std::vector<Tensor>& params) {
    ValueMap map;
    for (size_t i = 0; i < params.size(); ++i) map.set(root.params[i], params[i]);
    return watcher.region(old, map, 0);
  });
  return watcher.take();
}

}  // namespace tenon
