#include "tenon/trainer/trap.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "tenon/base/text.h"
#include "tenon/ir/op_def.h"
#include "tenon/ir/ops.h"
#include "tenon/passes/find_non_finite.h"
#include "tenon/passes/watch_values.h"
#include "tenon/runtime/executable.h"

namespace tenon {
namespace {

constexpr size_t kLoss = 0, kGradNorm = 1;

// f32[4]: smallest and largest finite element, how many are infinite and NaN.
Tensor range_of(const Tensor& value) {
  const Tensor x = reshape(widen(value), {-1});
  const Tensor finite = is_finite(x), is_nan = not_equal(x, x);
  const auto bound = [&](double at) { return full_like(x, at); };
  const double inf = std::numeric_limits<double>::infinity();
  const auto count = [](const Tensor& hits) { return convert(reduce_sum(convert(hits, DType::i32), {0}), DType::f32); };
  const std::vector<Tensor> parts{reduce_min(select(finite, x, bound(inf)), {0}),
                                  reduce_max(select(finite, x, bound(-inf)), {0}),
                                  count(logical_and(logical_not(finite), logical_not(is_nan))), count(is_nan)};
  std::vector<Tensor> rows;
  for (const Tensor& part : parts) rows.push_back(reshape(narrow_to_f32(part), {1}));
  return concatenate(rows, 0);
}

// The step with measures in place of its results, run once.
class Measured {
 public:
  Measured(TracedLoss traced, const Watch& watch, const std::shared_ptr<const Backend>& backend,
           const std::vector<Array>& args, const CompileCache* cache)
      : places_(watch_values(traced.graph, watch)) {
    Program program = make_program(traced.graph, traced.spec);
    // It runs once: what it takes to compile counts.
    if (backend->platform() == "cpu") {
      program.compile_options = {{"xla_backend_optimization_level", "0"},
                                 {"xla_llvm_disable_expensive_passes", "true"}};
    }
    for (const Array& a : compile(backend, traced.spec.mesh, program, cache)(args)) results_.push_back(a.to_literal());
  }

  bool has(ValueId v) const { return places_.contains(v); }
  // Element `i` of what was measured of `v` in these rounds.
  double get(ValueId v, std::span<const LoopRound> rounds, int64_t i) const {
    std::vector<int64_t> indices;
    for (const LoopRound& r : rounds) indices.push_back(r.index);
    const WatchedPlace& place = places_.at(v);
    const Literal& all = results_[place.result];
    return all.as_double(first_element(place, all.type(), indices) + i);
  }

 private:
  WatchedPlaces places_;
  std::vector<Literal> results_;
};

// Names values of the traced step around one place.
class Describer {
 public:
  Describer(const TracedLoss& traced, RegionId root, const std::vector<LoopRound>& rounds)
      : trace_(*traced.graph.trace), root_(root), names_(traced.spec.param_names), rounds_(rounds) {}

  // Where an op stands, and the rounds of loops that aren't in the path.
  std::string place(const OpInfo& op, std::vector<std::string>* loops = nullptr) const {
    std::vector<std::pair<std::string, int64_t>> around;
    for (const LoopRound& r : rounds_) around.emplace_back(trace_.path_of(trace_.op(r.scan)), r.index);
    const std::vector<std::pair<std::string, int64_t>> all = around;
    const std::string path = layer_path(trace_.path_of(op), around);
    for (size_t i = 0; loops != nullptr && i < all.size(); ++i) {
      if (std::find(around.begin(), around.end(), all[i]) == around.end()) continue;
      loops->push_back(fmt::format("round {} of {} of a loop at {}", all[i].second + 1,
                                   trace_.op(rounds_[i].scan).attrs.integer("length"), named(all[i].first)));
    }
    return named(path);
  }

  std::string source(ValueId v) const {
    const ValueInfo& value = trace_.value(v);
    if (value.def != kNoId) {
      const OpInfo& op = trace_.op(value.def);
      const std::string result = op.results.size() > 1 ? fmt::format(" result {}", value.index) : "";
      return fmt::format("{}/{}{}", place(op), op.def->name, result);
    }
    return value.region == root_ ? names_[value.index] : loop_parameter(value);
  }

 private:
  static std::string named(const std::string& path) { return path.empty() ? "model" : path; }

  std::string loop_parameter(const ValueInfo& value) const {
    for (const LoopRound& r : rounds_) {
      const OpInfo& scan = trace_.op(r.scan);
      if (scan.regions[0] != value.region) continue;
      if (value.index == 0) return "the index of the loop";
      const auto operand = static_cast<size_t>(value.index - 1);
      if (value.index <= scan_num_carry(scan)) return fmt::format("what the loop at {} carries", place(scan));
      return fmt::format("row {} of {}", r.index, source(scan.operands[operand]));
    }
    return "a parameter of a region";
  }

  const Trace& trace_;
  RegionId root_;
  const std::vector<std::string>& names_;
  const std::vector<LoopRound>& rounds_;
};

class Trap {
 public:
  Trap(const Model& model, const Learner& learner, const StepSettings& settings,
       const std::shared_ptr<const Backend>& backend, const std::vector<Array>& args, const CompileCache* cache)
      : traced_(trace_loss(model, learner, settings)),
        root_(traced_.graph.root),
        again_([&] { return trace_loss(model, learner, settings); }),
        backend_(backend),
        args_(args),
        cache_(cache) {}

  NonFiniteReport run() {
    const auto [target, origin] = find();
    const ValueId v = origin.value;
    const Trace& trace = *traced_.graph.trace;
    NonFiniteReport report;
    report.target = target == kLoss ? "the loss" : "the gradient norm";
    const Describer describe(traced_, root_, origin.rounds);
    std::vector<ValueId> wanted{v};
    const OpId def = trace.value(v).def;
    if (def != kNoId) {
      const OpInfo& op = trace.op(def);
      report.path = describe.place(op, &report.loops);
      report.op = op.def->name;
      wanted.insert(wanted.end(), op.operands.begin(), op.operands.end());
    }
    const auto is_wanted = [&](ValueId w) {
      return is_float(trace.value(w).type.dtype) && std::find(wanted.begin(), wanted.end(), w) != wanted.end();
    };
    const Measured ranges = measure({is_wanted, range_of});
    report.value = range(ranges, describe, v, origin.rounds);
    if (def == kNoId) report.path = report.value.source;
    for (size_t i = 1; i < wanted.size(); ++i) {
      report.inputs.push_back(range(ranges, describe, wanted[i], origin.rounds));
    }
    return report;
  }

 private:
  std::pair<size_t, NonFiniteOrigin> find() {
    const Trace& trace = *traced_.graph.trace;
    const Measured worst = measure({[&](ValueId v) { return is_float(trace.value(v).type.dtype); }, magnitude});
    const WorstOf lookup = [&](ValueId v, std::span<const LoopRound> rounds) {
      return worst.has(v) ? worst_of(worst.get(v, rounds, 0)) : Worst::finite;
    };
    for (const size_t target : {kLoss, kGradNorm}) {
      const ValueId v = trace.region(root_).results[target];
      if (auto origin = find_non_finite(trace, root_, v, lookup)) return {target, std::move(*origin)};
    }
    throw Error(ErrorCode::non_finite, "the step was not finite, but is when it runs again with its values looked at")
        .hint("the compiler rounds differently when values are read: set a higher precision where it is near overflow");
  }

  // Every trace of the step gives its values the same ids.
  Measured measure(const Watch& watch) const { return {again_(), watch, backend_, args_, cache_}; }

  ValueRange range(const Measured& ranges, const Describer& describe, ValueId v,
                   const std::vector<LoopRound>& rounds) const {
    ValueRange out{describe.source(v), traced_.graph.trace->value(v).type, 1, 0, 0, 0};
    if (!ranges.has(v)) return out;
    out.min = ranges.get(v, rounds, 0);
    out.max = ranges.get(v, rounds, 1);
    out.num_infinite = ranges.get(v, rounds, 2);
    out.num_nan = ranges.get(v, rounds, 3);
    return out;
  }

  TracedLoss traced_;
  RegionId root_;
  std::function<TracedLoss()> again_;
  const std::shared_ptr<const Backend>& backend_;
  const std::vector<Array>& args_;
  const CompileCache* cache_;
};

}  // namespace

NonFiniteReport trap_non_finite(const Model& model, const Learner& learner, const StepSettings& settings,
                                const std::shared_ptr<const Backend>& backend, const std::vector<Array>& args,
                                const CompileCache* cache) {
  return Trap(model, learner, settings, backend, args, cache).run();
}

std::string to_string(const ValueRange& r) {
  std::string out = tenon::to_string(r.type);
  if (r.min <= r.max) out += fmt::format(", finite ones from {:.4g} to {:.4g}", r.min, r.max);
  if (r.num_infinite + r.num_nan > 0) out += fmt::format(", {:.0f} infinite, {:.0f} NaN", r.num_infinite, r.num_nan);
  return out;
}

std::string format_report(const NonFiniteReport& report) {
  std::string out = fmt::format("trap: {} went non-finite at {}{}{}\n", report.target, report.path,
                                report.op.empty() ? "" : "/", report.op);
  for (const std::string& loop : report.loops) out += fmt::format("trap:   in {}\n", loop);
  out += fmt::format("trap:   {} {}", report.op.empty() ? "before the step:" : "result:", to_string(report.value));
  for (size_t i = 0; i < report.inputs.size(); ++i) {
    const ValueRange& in = report.inputs[i];
    out += fmt::format("\ntrap:   input {}: {}, from {}", i, to_string(in), in.source);
  }
  return out;
}

std::string layer_path(std::string_view path, std::vector<std::pair<std::string, int64_t>>& loops) {
  std::vector<std::string> parts = split(path, '.');
  for (size_t p = parts.size(); p-- > 0;) {
    const size_t colons = parts[p].find("::");
    if (colons == std::string::npos) continue;
    const Result<int64_t> first = parse_int(parts[p].substr(0, colons)),
                          period = parse_int(parts[p].substr(colons + 2));
    if (!first || !period || p == 0) continue;
    // The scan of a stack stands at the path of the module that has the stack.
    const std::string owner = join({parts.begin(), parts.begin() + static_cast<int64_t>(p) - 1}, ".");
    const auto loop = std::find_if(loops.rbegin(), loops.rend(), [&](const auto& l) { return l.first == owner; });
    if (loop == loops.rend()) continue;
    parts[p] = std::to_string(*first + loop->second * *period);
    loops.erase(std::next(loop).base());
  }
  return join(parts, ".");
}

}  // namespace tenon
