// scan, while, cond, case: checks, meaning and the op rows; printing is in control_print.cc.
#include "tenon/ir/ops/control.h"

#include <algorithm>

#include "tenon/ir/ops/control_print.h"
#include "tenon/ir/ops/elementwise.h"
#include "tenon/ir/ops/shape.h"
#include "tenon/ir/ops/support.h"
#include "tenon/ir/ops/table.h"

namespace tenon {
namespace {

TensorType stacked(TensorType t, int64_t length) {
  t.dims.insert(t.dims.begin(), length);
  return t;
}

// ── scan ──
std::vector<TensorType> infer_scan(const InferArgs& a) {
  const int64_t length = a.attrs.integer("length"), carry = a.attrs.integer("num_carry");
  const auto params = a.trace.types(a.trace.region(a.regions[0]).params);
  const auto results = a.trace.types(a.trace.region(a.regions[0]).results);
  if (length < 0) shape_error("length {} is negative", length);
  if (params.size() != a.operands.size() + 1 || params[0] != TensorType{DType::i32, {}}) {
    shape_error("the body takes an index and one value for each of {} operands, not {} values", a.operands.size(),
                params.size());
  }
  if (static_cast<int64_t>(results.size()) < carry) shape_error("the body returns fewer values than it carries");
  for (size_t i = 0; i < a.operands.size(); ++i) {
    const bool is_carry = i < as_size(carry);
    const TensorType want = is_carry ? params[i + 1] : stacked(params[i + 1], length);
    if (a.operands[i] != want) {
      shape_error("operand {} is {}, the body takes {}", i, to_string(a.operands[i]), to_string(want));
    }
    if (is_carry && results[i] != params[i + 1]) {
      shape_error("carry {} goes in as {} and comes out as {}", i, to_string(params[i + 1]), to_string(results[i]));
    }
  }
  std::vector<TensorType> out(results.begin(), results.begin() + carry);
  for (size_t i = as_size(carry); i < results.size(); ++i) out.push_back(stacked(results[i], length));
  return out;
}

Literal row_of(const Literal& x, int64_t index) {
  TensorType type{x.dtype(), {x.dims().begin() + 1, x.dims().end()}};
  const auto width = byte_size(type);
  const auto from = x.bytes().begin() + index * width;
  return Literal(std::move(type), {from, from + width});
}

void set_row(Literal& x, int64_t index, const Literal& row) {
  std::copy(row.bytes().begin(), row.bytes().end(),
            x.bytes().begin() + index * static_cast<int64_t>(row.bytes().size()));
}

std::vector<Literal> eval_scan(const EvalArgs& a) {
  const int64_t length = a.attrs().integer("length");
  const auto carry = as_size(a.attrs().integer("num_carry"));
  std::vector<Literal> out;
  for (size_t i = 0; i < a.results.size(); ++i) out.push_back(i < carry ? *a.operands[i] : Literal(a.results[i]));
  for (int64_t step = 0; step < length; ++step) {
    const int64_t index = a.attrs().flag("reverse") ? length - 1 - step : step;
    std::vector<Literal> args{Literal::scalar_int(DType::i32, index)};
    for (size_t i = 0; i < a.operands.size(); ++i) args.push_back(i < carry ? out[i] : row_of(*a.operands[i], index));
    std::vector<Literal> results = a.run(a.op.regions[0], std::move(args));
    for (size_t i = 0; i < results.size(); ++i) {
      if (i < carry) {
        out[i] = std::move(results[i]);
      } else {
        set_row(out[i], index, results[i]);
      }
    }
  }
  return out;
}

double scan_flops(const Trace& trace, const OpInfo& op) {
  return static_cast<double>(op.attrs.integer("length")) * count_flops(trace, op.regions[0]);
}

// ── while ──
std::vector<TensorType> infer_while(const InferArgs& a) {
  const RegionInfo &condition = a.trace.region(a.regions[0]), &body = a.trace.region(a.regions[1]);
  if (a.operands.empty()) shape_error("needs some state");
  if (a.trace.types(condition.results) != std::vector<TensorType>{{DType::i1, {}}}) {
    shape_error("the condition returns one i1[]");
  }
  if (a.trace.types(body.params) != a.operands || a.trace.types(body.results) != a.operands ||
      a.trace.types(condition.params) != a.operands) {
    shape_error("condition and body take, and the body returns, the types of the state");
  }
  return a.operands;
}
std::vector<Literal> eval_while(const EvalArgs& a) {
  std::vector<Literal> state;
  for (const Literal* x : a.operands) state.push_back(*x);
  while (a.run(a.op.regions[0], state)[0].as_int(0) != 0) state = a.run(a.op.regions[1], std::move(state));
  return state;
}
double while_flops(const Trace& trace, const OpInfo& op) { return count_flops(trace, op.regions[1]); }

// ── cond and case: one of the regions runs ──
std::vector<TensorType> branch_types(const InferArgs& a) {
  if (a.regions.empty()) shape_error("needs a branch");
  const std::vector<TensorType> first = a.trace.types(a.trace.region(a.regions[0]).results);
  for (const RegionId branch : a.regions) {
    if (!a.trace.region(branch).params.empty()) shape_error("the branches take no parameters");
    if (a.trace.types(a.trace.region(branch).results) != first) shape_error("the branches return different types");
  }
  return first;
}
double branch_flops(const Trace& trace, const OpInfo& op) {
  double most = 0;
  for (const RegionId branch : op.regions) most = std::max(most, count_flops(trace, branch));
  return most;
}

std::vector<TensorType> infer_cond(const InferArgs& a) {
  if (a.operands[0] != TensorType{DType::i1, {}})
    shape_error("the predicate is {}, not i1[]", to_string(a.operands[0]));
  return branch_types(a);
}
std::vector<Literal> eval_cond(const EvalArgs& a) {
  return a.run(a.op.regions[a.operand(0).as_int(0) != 0 ? 0 : 1], {});
}

std::vector<TensorType> infer_case(const InferArgs& a) {
  if (a.operands[0] != TensorType{DType::i32, {}}) shape_error("the index is {}, not i32[]", to_string(a.operands[0]));
  return branch_types(a);
}
std::vector<Literal> eval_case(const EvalArgs& a) {
  const int64_t index = a.operand(0).as_int(0), count = static_cast<int64_t>(a.op.regions.size());
  return a.run(index >= 0 && index < count ? a.op.regions[as_size(index)] : a.op.regions.back(), {});
}

constexpr std::string_view kStructural = "structural";

const OpDef kScan{"scan", infer_scan, print_scan, eval_scan, nullptr, kStructural, scan_flops, Recompute::expensive};
const OpDef kWhile{"while",     infer_while,
                   print_while, eval_while,
                   nullptr,     "how often it runs is known only at run time; use scan",
                   while_flops, Recompute::expensive};
const OpDef kCond{"cond",  infer_cond,  print_branches, eval_cond,
                  nullptr, kStructural, branch_flops,   Recompute::expensive};
const OpDef kCase{"case",  infer_case,  print_branches, eval_case,
                  nullptr, kStructural, branch_flops,   Recompute::expensive};

}  // namespace

std::vector<Tensor> scan_op(RegionId body, int64_t length, const std::vector<Tensor>& init,
                            const std::vector<Tensor>& xs, bool reverse) {
  std::vector<Tensor> operands = init;
  operands.insert(operands.end(), xs.begin(), xs.end());
  return current_trace().emit(
      kScan, std::move(operands),
      {{"length", length}, {"num_carry", static_cast<int64_t>(init.size())}, {"reverse", reverse}}, {body});
}

std::vector<Tensor> while_op(RegionId condition, RegionId body, const std::vector<Tensor>& init) {
  return current_trace().emit(kWhile, init, {}, {condition, body});
}

std::vector<Tensor> while_loop(const std::vector<Tensor>& init,
                               const std::function<Tensor(const std::vector<Tensor>&)>& condition,
                               const TensorFn& body) {
  std::vector<TensorType> state;
  for (const Tensor& t : init) state.push_back(t.type());
  Trace& trace = current_trace();
  const RegionId test = trace_region(trace, state, [&](const auto& s) { return std::vector<Tensor>{condition(s)}; });
  const RegionId step = trace_region(trace, state, body);
  return while_op(test, step, init);
}

std::vector<Tensor> cond_op(const Tensor& predicate, RegionId then, RegionId otherwise) {
  return current_trace().emit(kCond, {predicate}, {}, {then, otherwise});
}

std::vector<Tensor> cond(const Tensor& predicate, const std::function<std::vector<Tensor>()>& then,
                         const std::function<std::vector<Tensor>()>& otherwise) {
  Trace& trace = current_trace();
  const RegionId yes = trace_region(trace, {}, [&](const auto&) { return then(); });
  const RegionId no = trace_region(trace, {}, [&](const auto&) { return otherwise(); });
  return cond_op(predicate, yes, no);
}

std::vector<Tensor> case_op(const Tensor& index, const std::vector<RegionId>& branches) {
  return current_trace().emit(kCase, {index}, {}, branches);
}

std::vector<Tensor> switch_case(const Tensor& index,
                                const std::vector<std::function<std::vector<Tensor>()>>& branches) {
  Trace& trace = current_trace();
  std::vector<RegionId> regions;
  for (const auto& branch : branches) {
    regions.push_back(trace_region(trace, {}, [&](const auto&) { return branch(); }));
  }
  return case_op(index, regions);
}

bool is_scan(const OpInfo& op) { return op.def == &kScan; }
bool is_branch(const OpInfo& op) { return op.def == &kCond || op.def == &kCase; }
int64_t scan_num_carry(const OpInfo& op) { return op.attrs.integer("num_carry"); }

std::span<const OpDef* const> control_defs() {
  static const OpDef* const defs[] = {&kScan, &kWhile, &kCond, &kCase};
  return defs;
}

}  // namespace tenon
