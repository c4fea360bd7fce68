#include "tenon/ir/ops/control_print.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tenon/ir/op_def.h"

namespace tenon {
namespace {

// The values a stablehlo.while carries: the names inside the loop, those it starts from, and their types.
struct LoopVars {
  std::vector<std::string> inside, init, types;

  std::string add(HloWriter& w, std::string from, std::string type) {
    inside.push_back(w.fresh());
    init.push_back(std::move(from));
    types.push_back(std::move(type));
    return inside.back();
  }
  size_t size() const { return inside.size(); }
};

std::string result_name(const std::string& base, size_t i, size_t count) {
  return count == 1 ? base : fmt::format("{}#{}", base, i);
}

std::string loop_header(const std::string& base, const LoopVars& vars) {
  std::vector<std::string> args;
  for (size_t i = 0; i < vars.size(); ++i) args.push_back(fmt::format("{} = {}", vars.inside[i], vars.init[i]));
  const std::string lhs = vars.size() == 1 ? base : fmt::format("{}:{}", base, vars.size());
  return fmt::format("{} = stablehlo.while({}) : {}", lhs, fmt::join(args, ", "), fmt::join(vars.types, ", "));
}

std::string return_line(const std::vector<std::string>& values, const std::vector<std::string>& types) {
  return fmt::format("stablehlo.return {} : {}", fmt::join(values, ", "), fmt::join(types, ", "));
}

// Inside a loop a captured value has the name of the loop variable that carries it.
class CaptureNames {
 public:
  CaptureNames(HloWriter& w, const std::vector<ValueId>& values, LoopVars& vars) : w_(w) {
    for (ValueId v : values) {
      outside_.emplace_back(v, w.name(v));
      inside_.push_back(vars.add(w, w.name(v), w.type_text(v)));
    }
  }
  void enter() {
    for (size_t i = 0; i < outside_.size(); ++i) w_.bind(outside_[i].first, inside_[i]);
  }
  void leave() {
    for (const auto& [v, name] : outside_) w_.bind(v, name);
  }

 private:
  HloWriter& w_;
  std::vector<std::pair<ValueId, std::string>> outside_;
  std::vector<std::string> inside_;
};

std::string i32_constant(HloWriter& w, int64_t value) {
  const std::string name = w.fresh();
  w.line(fmt::format("{} = stablehlo.constant dense<{}> : tensor<i32>", name, value));
  return name;
}

class ScanPrinter {
 public:
  ScanPrinter(HloWriter& w, const OpInfo& op)
      : w_(w),
        op_(op),
        body_(w.trace().region(op.regions[0])),
        length_(op.attrs.integer("length")),
        carry_(static_cast<size_t>(op.attrs.integer("num_carry"))) {}

  void print() {
    if (length_ == 0) return print_nothing();
    counter_ = vars_.add(w_, i32_constant(w_, 0), "tensor<i32>");
    for (size_t i = 0; i < op_.operands.size(); ++i) {
      vars_.add(w_, w_.name(op_.operands[i]), w_.type_text(op_.operands[i]));
      // The body reads a carry under its own name; slices are made inside.
      if (i < carry_) w_.bind(body_.params[i + 1], vars_.inside.back());
    }
    add_buffers();
    CaptureNames captured(w_, captures(w_.trace(), op_.regions[0]), vars_);
    const std::string base = w_.fresh();
    w_.line(loop_header(base, vars_));
    captured.enter();
    condition();
    w_.line("do {");
    w_.indent(1);
    iteration();
    w_.indent(-1);
    w_.line("}" + w_.location(op_));
    captured.leave();
    bind_results(base);
  }

 private:
  // No steps: a slice of no rows isn't allowed even where it is never run.
  void print_nothing() {
    for (size_t i = 0; i < op_.results.size(); ++i) {
      w_.bind(op_.results[i], i < carry_ ? w_.name(op_.operands[i]) : filled(w_.type(op_.results[i]), 0));
    }
  }

  // The location of what makes a stacked result in the body; of a carry that is kept, of what makes the next one.
  std::string maker(size_t result) const {
    const Trace& trace = w_.trace();
    ValueId value = body_.results[result];
    for (size_t i = 0; i < carry_; ++i) {
      if (body_.params[i + 1] == value) {
        value = body_.results[i];
        break;
      }
    }
    const OpId def = trace.value(value).def;
    return def == kNoId ? std::string() : w_.location(trace.op(def));
  }

  std::string filled(const TensorType& type, int64_t value, const std::string& location = "") {
    const std::string number = w_.fresh(), buffer = w_.fresh();
    const TensorType scalar{type.dtype, {}};
    const Literal literal = is_float(type.dtype) ? Literal::scalar(type.dtype, static_cast<double>(value))
                                                 : Literal::scalar_int(type.dtype, value);
    w_.line(fmt::format("{} = stablehlo.constant {}", number, hlo_dense(literal)));
    w_.line(fmt::format("{} = stablehlo.broadcast_in_dim {}, dims = [] : ({}) -> {}{}", buffer, number,
                        hlo_type(scalar), hlo_type(type), location));
    return buffer;
  }

  // One buffer a stacked result, of a number that means nothing: the loop overwrites all. Equal buffers would become
  // one that the compiler copies for each result.
  void add_buffers() {
    constexpr size_t kNumbers = 16;
    first_buffer_ = vars_.size();
    for (size_t i = carry_; i < op_.results.size(); ++i) {
      const TensorType& type = w_.type(op_.results[i]);
      const size_t number = (i - carry_) % (type.dtype == DType::i1 ? 2 : kNumbers);
      vars_.add(w_, filled(type, static_cast<int64_t>(number), maker(i)), hlo_type(type));
    }
  }

  void condition() {
    w_.line("cond {");
    w_.indent(1);
    const std::string limit = i32_constant(w_, length_), more = w_.fresh();
    w_.line(fmt::format("{} = stablehlo.compare LT, {}, {}, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>", more,
                        counter_, limit));
    w_.line(fmt::format("stablehlo.return {} : tensor<i1>", more));
    w_.indent(-1);
    w_.line("}");
  }

  std::string index() {
    if (!op_.attrs.flag("reverse")) return counter_;
    const std::string last = i32_constant(w_, length_ - 1), name = w_.fresh();
    w_.line(fmt::format("{} = stablehlo.subtract {}, {} : tensor<i32>", name, last, counter_));
    return name;
  }

  std::string starts(const std::string& index, const std::string& zero, size_t rank) {
    std::string out = index;
    for (size_t d = 1; d < rank; ++d) out += ", " + zero;
    return out;
  }
  static std::string start_types(size_t rank) {
    std::string out;
    for (size_t d = 0; d < rank; ++d) out += ", tensor<i32>";
    return out;
  }

  void slice_input(size_t operand, const std::string& index, const std::string& zero) {
    const ValueId param = body_.params[operand + 1];
    TensorType row = w_.type(param);
    row.dims.insert(row.dims.begin(), 1);
    const std::string &x = vars_.inside[operand + 1], &x_type = vars_.types[operand + 1];
    const std::string cut = w_.fresh(), name = w_.fresh();
    w_.line(fmt::format("{} = stablehlo.dynamic_slice {}, {}, sizes = {} : ({}{}) -> {}", cut, x,
                        starts(index, zero, row.dims.size()), hlo_list(row.dims), x_type, start_types(row.dims.size()),
                        hlo_type(row)));
    w_.line(fmt::format("{} = stablehlo.reshape {} : ({}) -> {}", name, cut, hlo_type(row), w_.type_text(param)));
    w_.bind(param, name);
  }

  std::string store_output(size_t result, const std::string& index, const std::string& zero) {
    const ValueId value = body_.results[result];
    const size_t var = first_buffer_ + result - carry_;
    TensorType row = w_.type(value);
    row.dims.insert(row.dims.begin(), 1);
    const std::string shaped = w_.fresh(), name = w_.fresh();
    w_.line(fmt::format("{} = stablehlo.reshape {} : ({}) -> {}", shaped, w_.name(value), w_.type_text(value),
                        hlo_type(row)));
    w_.line(fmt::format("{} = stablehlo.dynamic_update_slice {}, {}, {} : ({}, {}{}) -> {}{}", name, vars_.inside[var],
                        shaped, starts(index, zero, row.dims.size()), vars_.types[var], hlo_type(row),
                        start_types(row.dims.size()), vars_.types[var], maker(result)));
    return name;
  }

  void iteration() {
    const std::string at = index(), zero = i32_constant(w_, 0);
    w_.bind(body_.params[0], at);
    for (size_t i = carry_; i < op_.operands.size(); ++i) slice_input(i, at, zero);
    w_.body(op_.regions[0]);
    std::vector<std::string> next = vars_.inside;
    const std::string one = i32_constant(w_, 1);
    next[0] = w_.fresh();
    w_.line(fmt::format("{} = stablehlo.add {}, {} : tensor<i32>", next[0], counter_, one));
    for (size_t i = 0; i < carry_; ++i) next[i + 1] = w_.name(body_.results[i]);
    for (size_t i = carry_; i < body_.results.size(); ++i) next[first_buffer_ + i - carry_] = store_output(i, at, zero);
    w_.line(return_line(next, vars_.types));
  }

  void bind_results(const std::string& base) {
    for (size_t i = 0; i < op_.results.size(); ++i) {
      const size_t var = i < carry_ ? i + 1 : first_buffer_ + i - carry_;
      w_.bind(op_.results[i], result_name(base, var, vars_.size()));
    }
  }

  HloWriter& w_;
  const OpInfo& op_;
  const RegionInfo& body_;
  int64_t length_;
  size_t carry_, first_buffer_ = 0;
  std::string counter_;
  LoopVars vars_;
};

void region_block(HloWriter& w, RegionId region, const LoopVars& vars, size_t num_state) {
  const RegionInfo& info = w.trace().region(region);
  for (size_t i = 0; i < num_state; ++i) w.bind(info.params[i], vars.inside[i]);
  w.indent(1);
  w.body(region);
}

}  // namespace

void print_scan(HloWriter& w, const OpInfo& op) { ScanPrinter(w, op).print(); }

void print_while(HloWriter& w, const OpInfo& op) {
  LoopVars vars;
  for (ValueId v : op.operands) vars.add(w, w.name(v), w.type_text(v));
  const size_t num_state = vars.size();
  std::vector<ValueId> captured = captures(w.trace(), op.regions[0]);
  for (ValueId v : captures(w.trace(), op.regions[1])) {
    if (std::find(captured.begin(), captured.end(), v) == captured.end()) captured.push_back(v);
  }
  CaptureNames names(w, captured, vars);
  const std::string base = w.fresh();
  w.line(loop_header(base, vars));
  names.enter();
  w.line("cond {");
  region_block(w, op.regions[0], vars, num_state);
  w.line(fmt::format("stablehlo.return {} : tensor<i1>", w.name(w.trace().region(op.regions[0]).results[0])));
  w.indent(-1);
  w.line("} do {");
  region_block(w, op.regions[1], vars, num_state);
  std::vector<std::string> next = vars.inside;
  for (size_t i = 0; i < num_state; ++i) next[i] = w.name(w.trace().region(op.regions[1]).results[i]);
  w.line(return_line(next, vars.types));
  w.indent(-1);
  w.line("}" + w.location(op));
  names.leave();
  for (size_t i = 0; i < op.results.size(); ++i) w.bind(op.results[i], result_name(base, i, vars.size()));
}

void print_branches(HloWriter& w, const OpInfo& op) {
  const std::string base = w.fresh();
  const size_t count = op.results.size();
  const std::string lhs = count == 0 ? "" : count == 1 ? base + " = " : fmt::format("{}:{} = ", base, count);
  const std::string_view name = op.def->name == "cond" ? "if" : "case";
  w.line(fmt::format("{}\"stablehlo.{}\"({}) ({{", lhs, name, w.name(op.operands[0])));
  for (size_t branch = 0; branch < op.regions.size(); ++branch) {
    const RegionInfo& info = w.trace().region(op.regions[branch]);
    w.indent(1);
    w.body(op.regions[branch]);
    w.line(count == 0 ? "stablehlo.return"
                      : fmt::format("stablehlo.return {} : {}", w.names(info.results), w.types(info.results)));
    w.indent(-1);
    const bool last = branch + 1 == op.regions.size();
    w.line(last ? fmt::format("}}) : ({}) -> ({}){}", w.type_text(op.operands[0]), w.types(op.results), w.location(op))
                : "}, {");
  }
  for (size_t i = 0; i < count; ++i) w.bind(op.results[i], result_name(base, i, count));
}

}  // namespace tenon
