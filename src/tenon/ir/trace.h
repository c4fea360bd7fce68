// Traces: one value table with nested regions, and the graph that owns it.
//
// Invariants
//  1. Every value is defined once: as a parameter of a region or a result of an op.
//  2. An op uses values of its own region, defined before it, or of an enclosing region (a capture).
//  3. Regions open and close like brackets. Closing puts the ops in canonical order (order.h). Only passes change a
//     closed region.
//  4. A trace belongs to the thread that made it.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "tenon/ir/attrs.h"
#include "tenon/ir/tensor.h"

namespace tenon {

struct OpDef;
using OpId = uint32_t;
using RegionId = uint32_t;
inline constexpr uint32_t kNoId = ~uint32_t{0};

// Where an op comes from: interned module path, and the innermost remat scope (kNoId: none).
struct Mark {
  uint32_t path = 0;
  uint32_t remat_scope = kNoId;
};

struct ValueInfo {
  TensorType type;
  RegionId region = kNoId;
  OpId def = kNoId;    // kNoId: a region parameter
  uint32_t index = 0;  // which result or parameter
};

struct OpInfo {
  const OpDef* def = nullptr;
  std::vector<ValueId> operands, results;
  std::vector<RegionId> regions;
  Attrs attrs;
  RegionId region = kNoId;
  Mark mark;
};

struct RegionInfo {
  RegionId parent = kNoId;
  std::vector<ValueId> params;
  std::vector<OpId> ops;
  std::vector<ValueId> results;
  bool open = true;
};

// What becomes of a value that the backward pass reads. Automatic: the cheapest choice for the whole region.
enum class Save : uint8_t { automatic, recompute, device, host };

// What a remat policy sees of a value.
struct RematQuery {
  std::string_view path;  // module path of the op that made it
  std::string_view tag;   // the tag, if the op is one
  std::string_view op;
};
using RematPolicyFn = std::function<Save(const RematQuery&)>;
// Something a remat policy names. One that nothing matches is a mistake.
struct RematClause {
  std::string text;
  std::function<bool(const RematQuery&)> matches;
};

class Trace {
 public:
  Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  const ValueInfo& value(ValueId id) const { return values_[id]; }
  std::vector<TensorType> types(std::span<const ValueId> values) const;
  const OpInfo& op(OpId id) const { return ops_[id]; }
  const RegionInfo& region(RegionId id) const { return regions_[id]; }
  size_t num_values() const { return values_.size(); }
  size_t num_ops() const { return ops_.size(); }
  RegionId current_region() const { return open_.empty() ? kNoId : open_.back(); }

  // Appends an op to the current region: checks operands, infers result types, verifies.
  std::vector<Tensor> emit(const OpDef& def, std::vector<Tensor> operands, Attrs attrs,
                           std::vector<RegionId> regions = {});
  // Opens a region inside the current one; its parameters have these types.
  RegionId open_region(std::span<const TensorType> params);
  void close_region(RegionId id, std::span<const Tensor> results);
  // Closes `id` and all inside it without results, after an error: it can't be used.
  void abandon_region(RegionId id);

  // ── for passes ──
  // The ops of a closed region become `ops`, a subset of them in the same order.
  void replace_ops(RegionId id, std::vector<OpId> ops) { regions_[id].ops = std::move(ops); }
  // Other operands, of the types it had.
  void replace_operands(OpId id, std::vector<ValueId> operands);
  // Makes a closed region, whose parent is the current one, current again; returns the results it had.
  std::vector<ValueId> reopen_region(RegionId id);
  // Takes the ops of the current region from number `first` on out of it; `keep_op` puts one at its end again.
  std::vector<OpId> take_ops(size_t first);
  void keep_op(OpId id) { regions_[open_.back()].ops.push_back(id); }

  std::vector<Tensor> params(RegionId id);
  std::vector<Tensor> results(RegionId id);
  Tensor tensor(ValueId id) { return {this, id}; }
  // Throws `wrong_context` unless the value can be used in the current region.
  void check_usable(const Tensor& t, std::string_view what) const;
  bool usable(const Tensor& t) const;

  // Module path put on the ops that follow.
  std::string_view path() const { return strings_[mark_.path]; }
  std::string_view path_of(const OpInfo& op) const { return strings_[op.mark.path]; }
  const Mark& mark() const { return mark_; }
  void set_path(std::string_view path) { mark_.path = intern(path); }
  void set_mark(const Mark& mark) { mark_ = mark; }
  uint32_t add_remat_scope(RematPolicyFn policy, std::vector<RematClause> clauses = {});
  void set_remat_scope(uint32_t scope) { mark_.remat_scope = scope; }
  Save remat_decision(const OpInfo& op) const;
  RematQuery remat_query(const OpInfo& op) const;
  const std::vector<RematClause>& remat_clauses(uint32_t scope) const { return remat_scopes_[scope].clauses; }
  uint32_t num_remat_scopes() const { return static_cast<uint32_t>(remat_scopes_.size()); }

 private:
  struct RematScopeInfo {
    RematPolicyFn policy;
    std::vector<RematClause> clauses;
  };

  uint32_t intern(std::string_view text);
  ValueId add_value(TensorType type, RegionId region, OpId def, uint32_t index);
  void check_thread() const;
  void check_emit(const OpDef& def, const std::vector<RegionId>& regions) const;

  std::deque<ValueInfo> values_;  // deques: references stay valid while ops are added
  std::deque<OpInfo> ops_;
  std::deque<RegionInfo> regions_;
  std::vector<RegionId> open_;
  std::deque<std::string> strings_;
  std::unordered_map<std::string, uint32_t> string_ids_;
  std::vector<RematScopeInfo> remat_scopes_;
  Mark mark_;
  std::thread::id thread_;
};

// The trace that free functions without tensor arguments (constants, iota) add to. Throws `wrong_context` outside a
// trace.
Trace& current_trace();
bool tracing();

// Makes `trace` current on this thread while it lives.
class [[nodiscard]] TraceScope {
 public:
  explicit TraceScope(Trace& trace);
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;

 private:
  Trace* previous_;
};

// Puts a mark on the ops traced while it lives.
class [[nodiscard]] MarkScope {
 public:
  MarkScope(Trace& trace, const Mark& mark) : trace_(trace), previous_(trace.mark()) { trace.set_mark(mark); }
  ~MarkScope() { trace_.set_mark(previous_); }
  MarkScope(const MarkScope&) = delete;

 private:
  Trace& trace_;
  Mark previous_;
};

using TensorFn = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

// Traces `body` into a new region inside the current one and closes it.
RegionId trace_region(Trace& trace, std::span<const TensorType> params, const TensorFn& body);

// A closed program: parameters in, results out.
struct Graph {
  std::unique_ptr<Trace> trace;
  RegionId root = kNoId;
  std::vector<TensorType> param_types() const;
  std::vector<TensorType> result_types() const;
};

// Traces `body` on parameters of these types into a program of its own.
Graph make_graph(std::span<const TensorType> params, const TensorFn& body);

// Maps values of one place to tensors of another; what isn't mapped stands for itself.
class ValueMap {
 public:
  void set(ValueId from, const Tensor& to) { map_[from] = to; }
  Tensor operator()(Trace& trace, ValueId id) const {
    const auto it = map_.find(id);
    return it == map_.end() ? trace.tensor(id) : it->second;
  }
  bool contains(ValueId id) const { return map_.contains(id); }

 private:
  std::unordered_map<ValueId, Tensor> map_;
};

// Repeats one op, with its regions, at the current place, under its old mark; adds its results to `map`.
std::vector<Tensor> clone_op(Trace& trace, OpId op, ValueMap& map);
// Repeats a region's ops at the current place with `args` for its parameters; returns its results.
std::vector<Tensor> inline_region(Trace& trace, RegionId region, std::span<const Tensor> args);
// Values of enclosing regions that `region` uses, in order of first use.
std::vector<ValueId> captures(const Trace& trace, RegionId region);

}  // namespace tenon
