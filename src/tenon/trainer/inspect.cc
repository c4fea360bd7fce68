#include "tenon/trainer/inspect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <unordered_map>

#include "tenon/base/regex.h"
#include "tenon/base/text.h"
#include "tenon/config/validate.h"
#include "tenon/data/dataset.h"
#include "tenon/ir/interpreter.h"
#include "tenon/ir/op_def.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/random.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/initializers.h"
#include "tenon/nn/model.h"
#include "tenon/trainer/train_step.h"
#include "tenon/trainer/trap.h"

namespace tenon {
namespace {

constexpr size_t kShown = 4;

// Where each op stands: the scans around it, outermost first. Loops of unknown length hide the number of the round.
class Places {
 public:
  explicit Places(const Graph& graph) : trace_(*graph.trace) {
    std::vector<OpId> around;
    region(graph.root, around, true);
  }

  // The path of `op` when it runs for the nth time, from 0.
  std::string path(const OpInfo& op, int64_t nth) const {
    std::vector<std::pair<std::string, int64_t>> loops;
    const Place& place = places_.at(&op);
    if (place.counted) {
      for (auto scan = place.scans.rbegin(); scan != place.scans.rend(); ++scan) {
        const OpInfo& info = trace_.op(*scan);
        const int64_t length = info.attrs.integer("length"), step = nth % length;
        nth /= length;
        loops.emplace(loops.begin(), trace_.path_of(info), info.attrs.flag("reverse") ? length - 1 - step : step);
      }
    }
    const std::string path = layer_path(trace_.path_of(op), loops);
    return path.empty() ? "model" : path;
  }

  // Every op in every round, as "path" and "path/op".
  void list(std::set<std::string>& paths, std::set<std::string>& ops) const {
    for (const auto& [op, place] : places_) {
      int64_t rounds = 1;
      for (const OpId scan : place.scans) rounds *= trace_.op(scan).attrs.integer("length");
      for (int64_t nth = 0; nth < (place.counted ? rounds : 1); ++nth) {
        const std::string where = path(*op, nth);
        paths.insert(where);
        ops.insert(fmt::format("{}/{}", where, op->def->name));
      }
    }
  }

 private:
  struct Place {
    std::vector<OpId> scans;
    bool counted = true;
  };

  void region(RegionId id, std::vector<OpId>& around, bool counted) {
    for (const OpId op_id : trace_.region(id).ops) {
      const OpInfo& op = trace_.op(op_id);
      places_[&op] = {around, counted};
      const bool scan = is_scan(op), inline_body = op.def->kernel != nullptr || op.def->name == "custom_vjp";
      if (scan) around.push_back(op_id);
      for (const RegionId inner : op.regions) region(inner, around, counted && (scan || inline_body));
      if (scan) around.pop_back();
    }
  }

  const Trace& trace_;
  std::unordered_map<const OpInfo*, Place> places_;
};

bool below(std::string_view path, std::string_view module) {
  return path.starts_with(module) && (path.size() == module.size() || path[module.size()] == '.');
}

// What `at` stands for among the ops of a program.
class Selection {
 public:
  Selection(const Places& places, std::string_view at) : at_(at) {
    std::set<std::string> paths, ops;
    places.list(paths, ops);
    if (std::any_of(paths.begin(), paths.end(), [&](const std::string& p) { return below(p, at_); })) return;
    Result<Regex> regex = Regex::compile(at_);
    if (!regex.ok()) {
      throw Error(ErrorCode::invalid_argument, "no module's path, and then it " + regex.error().message())
          .at("--at")
          .got(quote_text(at_));
    }
    regex_ = std::move(regex).value();
    const auto hit = [&](const std::string& op) { return regex_->finds(op); };
    if (std::any_of(ops.begin(), ops.end(), hit)) return;
    throw Error(ErrorCode::unknown_name, "no module and no op is called so")
        .at("--at")
        .got(quote_text(at_))
        .hint(did_you_mean(at_, {paths.begin(), paths.end()}));
  }
  bool takes(const std::string& path, std::string_view op) const {
    return regex_ ? regex_->finds(fmt::format("{}/{}", path, op)) : below(path, at_);
  }

 private:
  std::string at_;
  std::optional<Regex> regex_;
};

InspectedValue measure(std::string path, std::string op, const Literal& x) {
  InspectedValue out{std::move(path), std::move(op), x.type()};
  double sum = 0, squares = 0;
  out.min = std::numeric_limits<double>::infinity();
  out.max = -out.min;
  for (int64_t i = 0; i < x.size(); ++i) {
    const double v = x.as_double(i);
    if (out.first.size() < kShown) out.first.push_back(v);
    if (!std::isfinite(v)) {
      ++out.num_non_finite;
      continue;
    }
    out.min = std::min(out.min, v);
    out.max = std::max(out.max, v);
    sum += v;
    squares += v * v;
  }
  const auto count = static_cast<double>(x.size() - out.num_non_finite);
  if (count > 0) {
    out.mean = sum / count;
    out.std = std::sqrt(std::max(squares / count - out.mean * out.mean, 0.0));
  }
  return out;
}

std::vector<Literal> initial_state(const Model& model, const std::vector<ParamInfo>& infos, int64_t seed) {
  const std::vector<TensorType> types{{DType::u32, {2}}};
  const Graph graph = make_graph(types, [&](const std::vector<Tensor>& args) {
    const Nest values = init_state(model, fold_in(args[0], "init"), Mesh());
    std::vector<Tensor> out;
    for (const ParamInfo& info : infos) out.push_back(values.at(info.path));
    return out;
  });
  return interpret(graph, std::vector<Literal>{seed_words(seed)});
}

// (state…, seed, batch…) -> (sum, weight) of the loss.
Graph trace_forward(const Model& model, const std::vector<ParamInfo>& infos, const std::vector<Literal>& args,
                    const BatchTypes& batch) {
  std::vector<TensorType> types;
  for (const Literal& a : args) types.push_back(a.type());
  return make_graph(types, [&](const std::vector<Tensor>& tensors) {
    Nest state, inputs;
    size_t next = 0;
    for (const ParamInfo& info : infos) state.emplace(info.path, tensors[next++]);
    const Tensor key = fold_in(fold_in(fold_in(tensors[next++], "train"), 0U), 0U);
    for (const auto& [name, type] : batch) inputs.emplace(name, tensors[next++]);
    const LossSum loss = functional(model, &Model::forward, state, key, true, inputs).result;
    return std::vector<Tensor>{loss.sum, loss.weight};
  });
}

}  // namespace

InspectedLoss inspect_forward(const Trainer::Config& config, std::string_view at,
                              const std::function<void(const InspectedValue&)>& see) {
  validate(config);
  const Trainer trainer(config);
  const Model& model = trainer.model();
  const std::vector<ParamInfo> infos = describe_state(model);
  std::vector<Literal> args = initial_state(model, infos, config.seed);
  args.push_back(seed_words(config.seed));
  const Batch batch = trainer.data().batch(0);
  for (const auto& [name, array] : batch) args.push_back(array);
  const Graph graph = trace_forward(model, infos, args, types_of(batch));

  const Places places(graph);
  const Selection selection(places, at);
  std::unordered_map<const OpInfo*, int64_t> times;
  const std::vector<Literal> loss = interpret(graph, args, [&](const OpInfo& op, std::span<const Literal> results) {
    const std::string path = places.path(op, times[&op]++);
    if (!selection.takes(path, op.def->name)) return;
    for (size_t i = 0; i < results.size(); ++i) {
      const std::string number = results.size() > 1 ? fmt::format(".{}", i) : "";
      see(measure(path, std::string(op.def->name) + number, results[i]));
    }
  });
  const double weight = loss[1].as_double(0);
  return {weight > 0 ? loss[0].as_double(0) / weight : 0, weight, std::string(model.unit())};
}

std::string format_value(const InspectedValue& v) {
  std::vector<std::string> first;
  for (const double x : v.first) first.push_back(fmt::format("{:.6g}", x));
  return fmt::format("{}/{}  {}  min {:.6g}  max {:.6g}  mean {:.6g}  std {:.6g}  {} not finite  first {}", v.path,
                     v.op, to_string(v.type), v.min, v.max, v.mean, v.std, v.num_non_finite, fmt::join(first, ", "));
}

}  // namespace tenon
