// Modules: immutable once built, strictly encapsulated. A module knows its name and children, never its parent.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/autodiff/remat.h"
#include "tenon/config/build_part.h"
#include "tenon/config/config.h"
#include "tenon/nn/context.h"
#include "tenon/nn/param.h"

namespace tenon {

class Module : public Configurable {
 public:
  // What every module has; empty: inherited from the context.
  struct Config : AnyConfig {
    RematPolicy remat;
    std::optional<DType> compute_dtype;
    std::optional<DType> param_dtype;  // empty above: f32
    TENON_FIELDS(remat, compute_dtype, param_dtype)
  };
  ~Module() override;
  Module(const Module&) = delete;

  // A child as the outside sees it. A stacked child stands for `repeats` layers whose arrays have one more dimension in
  // front; layer r of them has the logical number first + r * period.
  struct ChildEntry {
    std::string name;
    const Module* module = nullptr;
    int64_t repeats = 0;  // 0: not stacked
    int64_t first = 0, period = 1;
    Axis axis = {};        // mesh axes that the layers of a stacked child are split over
    bool indexed = false;  // a layer of a stack: its key folds its number
    bool frozen = false;   // nothing in it is trained
  };
  const std::vector<ChildEntry>& children() const { return children_; }
  const std::vector<const Param*>& params() const { return params_; }
  const std::vector<const State*>& states() const { return states_; }
  const RematPolicy& remat() const { return remat_; }
  std::optional<DType> compute_dtype() const { return compute_dtype_; }
  std::optional<DType> param_dtype() const { return param_dtype_; }
  // The child shared under `name`, or null.
  const ChildEntry* find_shared(std::string_view name) const;

 protected:
  Module() = default;  // a node without a config of its own
  explicit Module(const Config& config)
      : remat_(config.remat), compute_dtype_(config.compute_dtype), param_dtype_(config.param_dtype) {}
  // Lets descendants find child `child` under `name` (Shared<I>).
  void share(std::string_view name, std::string_view child);
  void add_child(ChildEntry child);
  // No parameter of child `child`, or below it, is trained: all are states that no step changes.
  void freeze(std::string_view child);

 private:
  friend class Param;
  friend class State;
  template <class I>
  friend class Child;
  template <class I>
  friend class Layers;
  void check_new_name(std::string_view name) const;

  RematPolicy remat_;
  std::optional<DType> compute_dtype_, param_dtype_;
  std::vector<ChildEntry> children_;
  std::vector<const Param*> params_;
  std::vector<const State*> states_;
  std::vector<std::pair<std::string, std::string>> shared_;
};

namespace detail {
// Throws `wrong_context` unless the current context is `parent`'s.
Context& context_of(const Module& parent, std::string_view child);
// The context in which `name` is shared, and the child; throws `wrong_context` when nobody above shares it.
std::pair<Context*, const Module::ChildEntry*> find_shared(std::string_view name);
// Sets what the parent knows; a required field of the child that is read here is named in the error.
template <class I, class Fill>
void fill_child(std::string_view name, Slot<I>& config, Fill& fill) {
  try {
    fill(*config.operator->());
  } catch (Error& e) {
    e.prefix(name);
    throw;
  }
}
// An argument of a call, made ready in the caller's context: a parameter or state becomes the tensor it holds here.
template <class A>
decltype(auto) argument(A&& a) {
  using T = std::remove_cvref_t<A>;
  if constexpr (std::is_same_v<T, Param> || std::is_same_v<T, State>) {
    return Tensor(a);
  } else {
    return std::forward<A>(a);
  }
}
}  // namespace detail

// An owned child. No operator->: no method is reachable without entering the child's context, and arguments are
// evaluated in the caller's.
template <class I>
class Child {
 public:
  // `fill` sets what the parent knows: it sees the interface's fields only.
  template <std::invocable<typename I::Config&> Fill>
  Child(Module* parent, std::string_view name, Slot<I> config, Fill fill) : parent_(parent), name_(name) {
    detail::fill_child(name_, config, fill);
    adopt(config);
  }
  Child(Module* parent, std::string_view name, const Slot<I>& config) : parent_(parent), name_(name) { adopt(config); }

  template <class... A>
  decltype(auto) operator()(A&&... a) const {
    return call(&I::forward, std::forward<A>(a)...);
  }
  template <class M, class... A>
  decltype(auto) call(M method, A&&... a) const {
    return enter(method, detail::argument(std::forward<A>(a))...);
  }
  // As `call` where nothing is trained; what it collects is dropped: summaries, auxiliary losses, updates of states.
  template <class M, class... A>
  decltype(auto) call_evaluating(M method, A&&... a) const {
    Context& here = detail::context_of(*parent_, name_);
    const EvaluatingContext evaluating(here);
    return enter(method, detail::argument(std::forward<A>(a))...);
  }

 private:
  template <class M, class... A>
  decltype(auto) enter(M method, A&&... a) const {
    const Context in(*module_, detail::context_of(*parent_, name_), name_);
    return std::invoke(method, std::as_const(*module_), std::forward<A>(a)...);
  }
  void adopt(const Slot<I>& config) {
    module_ = build_part(name_, config);
    parent_->add_child({name_, module_.get()});
  }

  Module* parent_;
  std::string name_;
  std::unique_ptr<I> module_;
};

// A child of some module above that shares it: tied embeddings.
template <class I>
class Shared {
 public:
  explicit Shared(std::string name) : name_(std::move(name)) {}
  template <class M, class... A>
  decltype(auto) call(M method, A&&... a) const {
    return enter(method, detail::argument(std::forward<A>(a))...);
  }

 private:
  template <class M, class... A>
  decltype(auto) enter(M method, A&&... a) const {
    const auto [home, entry] = detail::find_shared(name_);
    const auto* module = dynamic_cast<const I*>(entry->module);
    if (module == nullptr) {
      throw Error(ErrorCode::wrong_type, "what is shared as '" + name_ + "' is of another type").at(home->path());
    }
    const Context in(*module, *home, entry->name);
    return std::invoke(method, *module, std::forward<A>(a)...);
  }

  std::string name_;
};

// One array of the state, as optimizers, checkpoints and tables see it.
struct ParamInfo {
  std::string path;
  Dims shape;               // logical, without the stack
  int64_t stack = 0;        // layers in front; 0: none
  PartitionSpec partition;  // of the whole array, stack included
  Initializer init;
  double decay_scale = 1;
  bool trainable = true;
  DType dtype = DType::f32;                   // as stored
  StateSource source = StateSource::forward;  // of a state: what its next value comes from
  Dims logical_shape() const;
};
// Every Param, then every State, in order of construction. Throws `unsupported` for a dtype that isn't stored.
std::vector<ParamInfo> describe_state(const Module& root);

}  // namespace tenon
