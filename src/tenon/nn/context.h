// The invocation context: which module runs, with which slice of the state, key and outputs.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/autodiff/remat.h"
#include "tenon/autodiff/tree.h"

namespace tenon {

class Module;

// How an output of layers, microbatches, branches and devices combines into one.
enum class Merge : uint8_t { sum, mean, weighted_mean, max, last, stack };

struct Output {
  Tensor value;
  Tensor weight;  // for weighted_mean
  Merge merge = Merge::mean;
  TENON_TREE(value, weight)
};
using Outputs = std::map<std::string, Output>;

// What a call left behind, by path.
struct Collected {
  Outputs summaries;  // for people: logs, TensorBoard
  Outputs aux;        // for code: auxiliary losses and the like
  Nest state_updates;
  TENON_TREE(summaries, aux, state_updates)
};

// `outputs` merged over their first dimension, as the layers of a stack are.
Outputs merge_stacked(const Outputs& outputs);

class Context {
 public:
  struct Root {
    const Nest* state = nullptr;
    Tensor key;  // empty: nothing may be drawn
    bool training = false;
    DType compute_dtype = DType::f32;
    Collected* collected = nullptr;
  };
  Context(const Module& module, const Root& root);
  // A child's context. `index` (i32 scalar), if given, is folded into the key in place of the name.
  Context(const Module& module, Context& parent, std::string_view name, std::optional<Tensor> index = {});
  ~Context();
  Context(const Context&) = delete;

  // The innermost context of this thread; throws `wrong_context` when there is none.
  static Context& current();

  const Module& module() const { return module_; }
  const std::string& path() const { return path_; }
  Context* parent() const { return parent_; }
  bool training() const { return training_; }
  void set_training(bool training) { training_ = training; }
  DType compute_dtype() const { return compute_dtype_; }
  // The stored array `name` of this module; throws `missing_field`.
  Tensor state(std::string_view name) const;
  // The key of this context. Throws `wrong_context` when the call was given none.
  Tensor key();
  // For loops over pieces of the input, also inside one another: draws in piece `index` (i32 scalar) are its own.
  // RestoreContext ends it.
  void push_piece(const Tensor& index) { pieces_.push_back(index); }
  // The key of a named draw; the same name twice throws.
  Tensor draw(std::string_view name);
  Collected& collected() const { return *collected_; }
  // For stacks: another state or collection for what runs inside. RestoreContext ends it.
  void set_state(const Nest* state) { state_ = state; }
  void set_collected(Collected* collected);
  // Throws `unsupported` in a loop or branch whose values can't reach the collection.
  void check_collecting(std::string_view name) const;
  // Adds what a loop collected: outputs merged over their first dimension, state updates as they are.
  void collect_stacked(const Collected& stacked);
  const Nest* state_nest() const { return state_; }
  std::string join(std::string_view name) const;

 private:
  friend class PieceScope;
  friend class RestoreContext;
  void enter();
  Tensor own_key();

  const Module& module_;
  Context* parent_ = nullptr;
  Context* previous_;
  std::string name_, path_;
  std::optional<Tensor> index_;
  std::vector<Tensor> pieces_;
  const Nest* state_;
  Tensor key_;
  bool training_;
  DType compute_dtype_;
  Collected* collected_;
  RegionId collecting_region_;  // where values of `collected_` live
  std::set<std::string, std::less<>> draws_;
  std::map<std::string, uint32_t, std::less<>> calls_;  // of each child
  uint32_t call_ = 0;                                   // how often the parent had called this child before
  Mark mark_before_, mark_;
  std::optional<RematScope> remat_;
};

// Makes an enclosing context the current one again, while it lives: for code of a parent that runs inside a child's
// call.
class [[nodiscard]] ResumeContext {
 public:
  explicit ResumeContext(Context& context);
  ~ResumeContext();
  ResumeContext(const ResumeContext&) = delete;

 private:
  Context* previous_;
  Mark mark_;
};

// For code that has what runs in a context read, draw or collect elsewhere: puts all that back, also when an exception
// passes.
class [[nodiscard]] RestoreContext {
 public:
  explicit RestoreContext(Context& context);
  ~RestoreContext();
  RestoreContext(const RestoreContext&) = delete;

 private:
  Context& context_;
  std::vector<Tensor> pieces_;
  const Nest* state_;
  bool training_;
  Collected* collected_;
  RegionId collecting_region_;
};

// What is called in `context` doesn't train while this lives, and nothing that it collects is kept.
class [[nodiscard]] EvaluatingContext {
 public:
  explicit EvaluatingContext(Context& context) : restore_(context) {
    context.set_training(false);
    context.set_collected(&dropped_);
  }
  EvaluatingContext(const EvaluatingContext&) = delete;

 private:
  Collected dropped_;
  RestoreContext restore_;
};

// Code of `context`, the current one or one around it, on piece `index` of a loop over the input: what it draws is the
// piece's own, what it collects goes to `collected`.
class [[nodiscard]] PieceScope {
 public:
  PieceScope(Context& context, const Tensor& index, Collected& collected);
  ~PieceScope();
  PieceScope(const PieceScope&) = delete;

 private:
  RestoreContext restore_;
  Context* previous_;
  Mark mark_;
};

// Whether the current call trains (dropout on, statistics updated).
bool is_training();
// A key for random draws in the current module. The same `draw` twice in one context throws `wrong_context`.
Tensor rng(std::string_view draw);
// A number for people, averaged or summed as `merge` says. `weight` for weighted_mean.
void summary(std::string_view name, const Tensor& value, Merge merge = Merge::mean, const Tensor& weight = {});
// A value for code above: an auxiliary loss.
void aux(std::string_view name, const Tensor& value, Merge merge, const Tensor& weight = {});

}  // namespace tenon
