#include "tenon/ir/interpreter.h"

#include <fmt/format.h>

#include "tenon/ir/op_def.h"

namespace tenon {
namespace {

class Interpreter {
 public:
  Interpreter(const Trace& trace, const Observer& observer)
      : trace_(trace), observer_(observer), values_(trace.num_values()) {}

  std::vector<Literal> run(RegionId region, std::vector<Literal> args) {
    const RegionInfo& info = trace_.region(region);
    for (size_t i = 0; i < args.size(); ++i) values_[info.params[i]] = std::move(args[i]);
    for (OpId id : info.ops) run_op(trace_.op(id));
    std::vector<Literal> out;
    for (ValueId v : info.results) out.push_back(values_[v]);
    return out;
  }

 private:
  void run_op(const OpInfo& op) {
    EvalArgs args{trace_, op, {}, {}, [this](RegionId r, std::vector<Literal> a) { return run(r, std::move(a)); }};
    for (ValueId v : op.operands) args.operands.push_back(&values_[v]);
    for (ValueId v : op.results) args.results.push_back(trace_.value(v).type);
    std::vector<Literal> results = op.def->eval(args);
    if (observer_) observer_(op, results);
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].type() != args.results[i]) {
        throw Error(ErrorCode::internal, fmt::format("'{}' evaluates to another type than was inferred", op.def->name));
      }
      values_[op.results[i]] = std::move(results[i]);
    }
  }

  const Trace& trace_;
  const Observer& observer_;
  std::vector<Literal> values_;
};

}  // namespace

std::vector<Literal> interpret(const Graph& graph, std::span<const Literal> args, const Observer& observer) {
  const std::vector<TensorType> types = graph.param_types();
  if (args.size() != types.size()) {
    throw Error(ErrorCode::shape_mismatch,
                fmt::format("a graph of {} parameters was given {}", types.size(), args.size()));
  }
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].type() != types[i]) {
      throw Error(ErrorCode::shape_mismatch, fmt::format("argument {} of the graph", i))
          .got(to_string(args[i].type()))
          .expected(to_string(types[i]));
    }
  }
  return Interpreter(*graph.trace, observer).run(graph.root, {args.begin(), args.end()});
}

}  // namespace tenon
