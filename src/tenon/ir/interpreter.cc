#include "tenon/ir/interpreter.h"

#include <fmt/format.h>

#include <exception>
#include <mutex>
#include <thread>

#include "tenon/ir/device_group.h"
#include "tenon/ir/op_def.h"

namespace tenon {
namespace {

class Interpreter {
 public:
  Interpreter(const Trace& trace, const Observer& observer, int64_t device = 0, DeviceGroup* group = nullptr)
      : trace_(trace), observer_(observer), device_(device), group_(group), values_(trace.num_values()) {}

  std::vector<Literal> run(RegionId region, std::vector<Literal> args) {
    const RegionInfo& info = trace_.region(region);
    for (size_t i = 0; i < args.size(); ++i) values_[info.params[i]] = std::move(args[i]);
    for (OpId id : info.ops) run_op(id);
    std::vector<Literal> out;
    for (ValueId v : info.results) out.push_back(values_[v]);
    return out;
  }

 private:
  void run_op(OpId id) {
    const OpInfo& op = trace_.op(id);
    EvalArgs args{trace_, op, {}, {}, [this](RegionId r, std::vector<Literal> a) { return run(r, std::move(a)); }};
    args.run_devices = [this](RegionId r, const std::vector<int64_t>& devices, std::vector<std::vector<Literal>> a) {
      return run_devices(r, devices, std::move(a));
    };
    args.device = device_;
    if (group_ != nullptr) {
      args.exchange = [this, id](const Literal& mine) { return group_->exchange(device_, id, mine); };
    }
    for (ValueId v : op.operands) args.operands.push_back(&values_[v]);
    args.results = trace_.types(op.results);
    std::vector<Literal> results = op.def->eval(args);
    if (observer_) observer_(op, results);
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].type() != args.results[i]) {
        throw Error(ErrorCode::internal, fmt::format("'{}' evaluates to another type than was inferred", op.def->name));
      }
      values_[op.results[i]] = std::move(results[i]);
    }
  }

  // The region once for each device, at the same time, as they wait for each other at collectives. It reads nothing
  // from outside, so each starts with no values. The first error of any is thrown.
  std::vector<std::vector<Literal>> run_devices(RegionId region, const std::vector<int64_t>& devices,
                                                std::vector<std::vector<Literal>> args) {
    DeviceGroup group(devices.size());
    std::mutex mutex;
    std::exception_ptr error;
    const Observer one_at_a_time = [&](const OpInfo& op, std::span<const Literal> results) {
      const std::scoped_lock lock(mutex);
      observer_(op, results);
    };
    const Observer observer = observer_ ? one_at_a_time : Observer();
    std::vector<std::vector<Literal>> out(devices.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < devices.size(); ++i) {
      threads.emplace_back([&, i] {
        try {
          out[i] = Interpreter(trace_, observer, devices[i], &group).run(region, std::move(args[i]));
        } catch (...) {
          const std::scoped_lock lock(mutex);
          if (!error) error = std::current_exception();
        }
        group.leave();
      });
    }
    for (std::thread& t : threads) t.join();
    if (error) std::rethrow_exception(error);
    return out;
  }

  const Trace& trace_;
  const Observer& observer_;
  int64_t device_;
  DeviceGroup* group_;
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
