#include "tenon/ir/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "tenon/ir/op_def.h"
#include "tenon/ir/order.h"

namespace tenon {
namespace {

thread_local Trace* current = nullptr;

// An error at the module path of the current trace.
Error located(ErrorCode code, std::string message) {
  Error e(code, std::move(message));
  return tracing() ? e.at(std::string(current->path())) : e;
}

}  // namespace

const TensorType& Tensor::type() const {
  if (trace_ == nullptr) throw located(ErrorCode::wrong_context, "an empty Tensor was used");
  return trace_->value(id_).type;
}

int64_t Tensor::dim(int64_t i) const {
  const int64_t n = rank();
  if (i < -n || i >= n) {
    throw located(ErrorCode::shape_mismatch, fmt::format("dimension {} of {}", i, to_string(type())));
  }
  return dims()[static_cast<size_t>(i < 0 ? i + n : i)];
}

Trace::Trace() : thread_(std::this_thread::get_id()) { mark_.path = intern(""); }

uint32_t Trace::intern(std::string_view text) {
  const auto [it, added] = string_ids_.try_emplace(std::string(text), static_cast<uint32_t>(strings_.size()));
  if (added) strings_.emplace_back(text);
  return it->second;
}

ValueId Trace::add_value(TensorType type, RegionId region, OpId def, uint32_t index) {
  values_.push_back({std::move(type), region, def, index});
  return static_cast<ValueId>(values_.size() - 1);
}

void Trace::check_thread() const {
  if (std::this_thread::get_id() != thread_) {
    throw Error(ErrorCode::wrong_context, "a trace was used from a thread that isn't its own");
  }
}

void Trace::check_usable(const Tensor& t, std::string_view what) const {
  if (!t) throw Error(ErrorCode::wrong_context, fmt::format("{} is an empty Tensor", what)).at(std::string(path()));
  if (t.trace() != this) {
    throw Error(ErrorCode::wrong_context, fmt::format("{} belongs to another trace", what))
        .at(std::string(path()))
        .hint("pass it in as an input of the function that is traced");
  }
  if (!usable(t)) {
    throw Error(ErrorCode::wrong_context, fmt::format("{} belongs to a region that is closed", what))
        .at(std::string(path()))
        .hint("return it from the body of the scan, cond or grad that made it");
  }
}

void Trace::check_emit(const OpDef& def, const std::vector<RegionId>& regions) const {
  check_thread();
  if (open_.empty())
    throw located(ErrorCode::wrong_context, fmt::format("op '{}' in a trace that is closed", def.name));
  if (current != nullptr && current != this) {
    throw located(ErrorCode::wrong_context, fmt::format("op '{}' on a value that belongs to another trace", def.name))
        .hint("pass it in as an input of the function that is traced");
  }
  for (RegionId id : regions) {
    tenon::check(!regions_[id].open && regions_[id].parent == open_.back(),
                 "an op's regions are closed, in its own region");
  }
}

bool Trace::usable(const Tensor& t) const {
  return t.trace() == this && std::find(open_.rbegin(), open_.rend(), values_[t.id()].region) != open_.rend();
}

std::vector<Tensor> Trace::emit(const OpDef& def, std::vector<Tensor> operands, Attrs attrs,
                                std::vector<RegionId> regions) {
  check_emit(def, regions);
  OpInfo op{&def, {}, {}, std::move(regions), std::move(attrs), open_.back(), mark_};
  InferArgs args{*this, {}, op.attrs, op.regions};
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!usable(operands[i])) check_usable(operands[i], fmt::format("operand {} of '{}'", i, def.name));
    op.operands.push_back(operands[i].id());
    args.operands.push_back(operands[i].type());
  }
  std::vector<TensorType> types;
  try {
    types = def.infer(args);
    for (const TensorType& type : types) byte_size(type);  // throws when the array is too large
  } catch (Error& e) {
    throw Error(e.code(), fmt::format("{}: {}", def.name, e.message())).at(std::string(path())).hint(e.hint());
  }
  const auto id = static_cast<OpId>(ops_.size());
  std::vector<Tensor> out;
  for (size_t i = 0; i < types.size(); ++i) {
    op.results.push_back(add_value(std::move(types[i]), open_.back(), id, static_cast<uint32_t>(i)));
    out.push_back(tensor(op.results.back()));
  }
  regions_[open_.back()].ops.push_back(id);
  ops_.push_back(std::move(op));
  return out;
}

RegionId Trace::open_region(std::span<const TensorType> params) {
  check_thread();
  for (const TensorType& type : params) {
    const bool negative = std::any_of(type.dims.begin(), type.dims.end(), [](int64_t d) { return d < 0; });
    if (negative)
      throw located(ErrorCode::invalid_argument, fmt::format("a region's parameter is {}", to_string(type)));
  }
  const auto id = static_cast<RegionId>(regions_.size());
  RegionInfo info;
  info.parent = open_.empty() ? kNoId : open_.back();
  for (size_t i = 0; i < params.size(); ++i) {
    info.params.push_back(add_value(params[i], id, kNoId, static_cast<uint32_t>(i)));
  }
  regions_.push_back(std::move(info));
  open_.push_back(id);
  return id;
}

void Trace::close_region(RegionId id, std::span<const Tensor> results) {
  tenon::check(!open_.empty() && open_.back() == id, "regions close in the order they opened");
  for (size_t i = 0; i < results.size(); ++i) {
    if (!usable(results[i])) check_usable(results[i], fmt::format("result {} of a region", i));
  }
  for (const Tensor& t : results) regions_[id].results.push_back(t.id());
  regions_[id].ops = canonical_order(*this, id);
  regions_[id].open = false;
  open_.pop_back();
}

void Trace::abandon_region(RegionId id) {
  while (!open_.empty()) {
    const RegionId top = open_.back();
    regions_[top].open = false;
    open_.pop_back();
    if (top == id) return;
  }
}

void Trace::replace_operands(OpId id, std::vector<ValueId> operands) {
  OpInfo& op = ops_[id];
  tenon::check(operands.size() == op.operands.size(), "an op keeps its number of operands");
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool same = operands[i] == op.operands[i] || value(operands[i]).type == value(op.operands[i]).type;
    tenon::check(same, "an operand is replaced by one of its type");
  }
  op.operands = std::move(operands);
}

std::vector<ValueId> Trace::reopen_region(RegionId id) {
  tenon::check(!regions_[id].open && regions_[id].parent == current_region(), "a region opens inside its parent");
  regions_[id].open = true;
  open_.push_back(id);
  return std::exchange(regions_[id].results, {});
}

std::vector<OpId> Trace::take_ops(size_t first) {
  std::vector<OpId>& ops = regions_[open_.back()].ops;
  std::vector<OpId> out(ops.begin() + static_cast<int64_t>(first), ops.end());
  ops.resize(first);
  return out;
}

std::vector<Tensor> Trace::params(RegionId id) {
  std::vector<Tensor> out;
  for (ValueId v : regions_[id].params) out.push_back(tensor(v));
  return out;
}

std::vector<Tensor> Trace::results(RegionId id) {
  std::vector<Tensor> out;
  for (ValueId v : regions_[id].results) out.push_back(tensor(v));
  return out;
}

uint32_t Trace::add_remat_scope(RematPolicyFn policy, std::vector<RematClause> clauses) {
  remat_scopes_.push_back({std::move(policy), std::move(clauses)});
  return num_remat_scopes() - 1;
}

RematQuery Trace::remat_query(const OpInfo& op) const {
  RematQuery query{path_of(op), {}, op.def->name};
  if (op.def->name == "tag") query.tag = op.attrs.text("name");
  return query;
}

Save Trace::remat_decision(const OpInfo& op) const {
  return op.mark.remat_scope == kNoId ? Save::automatic : remat_scopes_[op.mark.remat_scope].policy(remat_query(op));
}

Trace& current_trace() {
  if (current == nullptr) {
    throw Error(ErrorCode::wrong_context, "no trace is open on this thread").hint("call it inside make_graph or jit");
  }
  return *current;
}
bool tracing() { return current != nullptr; }

TraceScope::TraceScope(Trace& trace) : previous_(current) { current = &trace; }
TraceScope::~TraceScope() { current = previous_; }

RegionId trace_region(Trace& trace, std::span<const TensorType> params, const TensorFn& body) {
  const RegionId id = trace.open_region(params);
  try {
    trace.close_region(id, body(trace.params(id)));
  } catch (...) {
    trace.abandon_region(id);
    throw;
  }
  return id;
}

std::vector<TensorType> Trace::types(std::span<const ValueId> values) const {
  std::vector<TensorType> out;
  for (ValueId v : values) out.push_back(value(v).type);
  return out;
}

namespace {

RegionId clone_region(Trace& trace, RegionId from, ValueMap& map) {
  const RegionInfo info = trace.region(from);
  const RegionId id = trace.open_region(trace.types(info.params));
  const std::vector<Tensor> params = trace.params(id);
  for (size_t i = 0; i < params.size(); ++i) map.set(info.params[i], params[i]);
  for (OpId op : info.ops) clone_op(trace, op, map);
  std::vector<Tensor> results;
  for (ValueId v : info.results) results.push_back(map(trace, v));
  trace.close_region(id, results);
  return id;
}

void collect_captures(const Trace& trace, RegionId region, std::unordered_set<ValueId>& defined,
                      std::unordered_set<ValueId>& seen, std::vector<ValueId>& out) {
  const RegionInfo& info = trace.region(region);
  const auto use = [&](ValueId v) {
    if (!defined.contains(v) && seen.insert(v).second) out.push_back(v);
  };
  defined.insert(info.params.begin(), info.params.end());
  for (OpId id : info.ops) {
    const OpInfo& op = trace.op(id);
    for (ValueId v : op.operands) use(v);
    for (RegionId inner : op.regions) collect_captures(trace, inner, defined, seen, out);
    defined.insert(op.results.begin(), op.results.end());
  }
  for (ValueId v : info.results) use(v);
}

}  // namespace

std::vector<TensorType> Graph::param_types() const { return trace->types(trace->region(root).params); }
std::vector<TensorType> Graph::result_types() const { return trace->types(trace->region(root).results); }

Graph make_graph(std::span<const TensorType> params, const TensorFn& body) {
  Graph graph;
  graph.trace = std::make_unique<Trace>();
  const TraceScope scope(*graph.trace);
  graph.root = trace_region(*graph.trace, params, body);
  return graph;
}

std::vector<Tensor> clone_op(Trace& trace, OpId id, ValueMap& map) {
  const OpInfo op = trace.op(id);
  std::vector<Tensor> operands;
  for (ValueId v : op.operands) operands.push_back(map(trace, v));
  std::vector<RegionId> regions;
  for (RegionId r : op.regions) regions.push_back(clone_region(trace, r, map));
  const MarkScope mark(trace, op.mark);
  std::vector<Tensor> results = trace.emit(*op.def, std::move(operands), op.attrs, std::move(regions));
  for (size_t i = 0; i < results.size(); ++i) map.set(op.results[i], results[i]);
  return results;
}

std::vector<Tensor> inline_region(Trace& trace, RegionId region, std::span<const Tensor> args) {
  const RegionInfo info = trace.region(region);
  tenon::check(args.size() == info.params.size(), "a region is inlined with one argument per parameter");
  ValueMap map;
  for (size_t i = 0; i < args.size(); ++i) map.set(info.params[i], args[i]);
  for (OpId op : info.ops) clone_op(trace, op, map);
  std::vector<Tensor> results;
  for (ValueId v : info.results) results.push_back(map(trace, v));
  return results;
}

std::vector<ValueId> captures(const Trace& trace, RegionId region) {
  std::unordered_set<ValueId> defined, seen;
  std::vector<ValueId> out;
  collect_captures(trace, region, defined, seen, out);
  return out;
}

}  // namespace tenon
