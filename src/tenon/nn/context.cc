#include "tenon/nn/context.h"

#include <fmt/format.h>

#include "tenon/ir/ops.h"
#include "tenon/ir/random.h"
#include "tenon/nn/module.h"

namespace tenon {
namespace {

thread_local Context* innermost = nullptr;

void collect(Outputs& outputs, std::string_view name, const Tensor& value, Merge merge, const Tensor& weight) {
  Context& here = Context::current();
  if ((merge == Merge::weighted_mean) != static_cast<bool>(weight)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("output '{}': a weight goes with weighted_mean and only with it", name))
        .at(here.path());
  }
  if (weight && weight.type() != value.type()) {
    throw Error(ErrorCode::shape_mismatch, fmt::format("the weight of output '{}'", name))
        .at(here.path())
        .got(to_string(weight.type()))
        .expected(to_string(value.type()));
  }
  here.check_collecting(name);
  if (!outputs.try_emplace(here.join(name), Output{value, weight, merge}).second) {
    throw Error(ErrorCode::wrong_context, fmt::format("output '{}' was given twice", name)).at(here.path());
  }
}

Tensor merge_first(const Output& o) {
  switch (o.merge) {
    case Merge::sum:
      return reduce_sum(o.value, {0});
    case Merge::mean:
      return mean(o.value, {0});
    case Merge::max:
      return reduce_max(o.value, {0});
    case Merge::last:
      return reshape(slice_dim(o.value, 0, o.value.dim(0) - 1, o.value.dim(0)),
                     {o.value.dims().begin() + 1, o.value.dims().end()});
    case Merge::weighted_mean: {
      const Tensor total = reduce_sum(o.weight, {0});
      const Tensor weighted = reduce_sum(o.value * o.weight, {0});
      return weighted / maximum(total, full_like(total, 1e-30));
    }
    case Merge::stack:
      return o.value;
  }
  return o.value;
}

DType computable(DType dtype, const std::string& path) {
  if (dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f64) return dtype;
  throw Error(ErrorCode::unsupported, "a module can't compute in this dtype")
      .at(path.empty() ? "compute_dtype" : path + ".compute_dtype")
      .got(std::string(to_string(dtype)))
      .expected("f32, bf16 or f64")
      .hint(dtype == DType::f16 ? kNoFloat16 : "set compute_dtype to one of these");
}

}  // namespace

Outputs merge_stacked(const Outputs& outputs) {
  Outputs out;
  for (const auto& [path, o] : outputs) {
    Output merged{merge_first(o), {}, o.merge};
    if (o.weight) merged.weight = reduce_sum(o.weight, {0});
    out.emplace(path, std::move(merged));
  }
  return out;
}

Context::Context(const Module& module, const Root& root)
    : module_(module),
      previous_(innermost),
      state_(root.state),
      key_(root.key),
      training_(root.training),
      compute_dtype_(computable(module.compute_dtype().value_or(root.compute_dtype), path_)),
      collected_(root.collected),
      collecting_region_(current_trace().current_region()),
      mark_before_(current_trace().mark()) {
  enter();
}

Context::Context(const Module& module, Context& parent, std::string_view name, std::optional<Tensor> index)
    : module_(module),
      parent_(&parent),
      previous_(innermost),
      name_(name),
      path_(parent.join(name)),
      index_(std::move(index)),
      state_(parent.state_),
      training_(parent.training_),
      compute_dtype_(computable(module.compute_dtype().value_or(parent.compute_dtype_), path_)),
      collected_(parent.collected_),
      collecting_region_(parent.collecting_region_),
      mark_before_(current_trace().mark()) {
  enter();
}

void Context::enter() {
  if (parent_ != nullptr) call_ = parent_->calls_[name_]++;
  innermost = this;
  current_trace().set_path(path_);
  if (module_.remat() && training_) remat_.emplace(module_.remat());
  mark_ = current_trace().mark();
}

Context::~Context() {
  remat_.reset();
  innermost = previous_;
  current_trace().set_mark(mark_before_);
}

ResumeContext::ResumeContext(Context& context) : previous_(innermost), mark_(current_trace().mark()) {
  innermost = &context;
  current_trace().set_path(context.path());
}

ResumeContext::~ResumeContext() {
  innermost = previous_;
  current_trace().set_mark(mark_);
}

RestoreContext::RestoreContext(Context& context)
    : context_(context),
      pieces_(context.pieces_),
      state_(context.state_),
      training_(context.training_),
      collected_(context.collected_),
      collecting_region_(context.collecting_region_) {}

RestoreContext::~RestoreContext() {
  context_.pieces_ = std::move(pieces_);
  context_.state_ = state_;
  context_.training_ = training_;
  context_.collected_ = collected_;
  context_.collecting_region_ = collecting_region_;
}

PieceScope::PieceScope(Context& context, const Tensor& index, Collected& collected)
    : restore_(context), previous_(innermost), mark_(current_trace().mark()) {
  innermost = &context;
  current_trace().set_mark(context.mark_);
  context.push_piece(index);
  context.set_collected(&collected);
}

PieceScope::~PieceScope() {
  innermost = previous_;
  current_trace().set_mark(mark_);
}

Context& Context::current() {
  if (innermost == nullptr) {
    throw Error(ErrorCode::wrong_context, "a module was used outside a call").hint("call it through functional(...)");
  }
  return *innermost;
}

std::string Context::join(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

void Context::set_collected(Collected* collected) {
  collected_ = collected;
  collecting_region_ = current_trace().current_region();
}

void Context::check_collecting(std::string_view name) const {
  if (current_trace().current_region() == collecting_region_) return;
  throw Error(ErrorCode::unsupported,
              fmt::format("'{}' was given inside a loop or branch that isn't a stack of layers", name))
      .at(path_)
      .hint("return it from the loop and give it after");
}

void Context::collect_stacked(const Collected& stacked) {
  Outputs summaries = merge_stacked(stacked.summaries), auxes = merge_stacked(stacked.aux);
  for (const Outputs* outputs : {&summaries, &auxes}) {
    if (!outputs->empty()) check_collecting(outputs->begin()->first);
  }
  if (!stacked.state_updates.empty()) check_collecting(stacked.state_updates.begin()->first);
  collected_->summaries.merge(summaries);
  collected_->aux.merge(auxes);
  collected_->state_updates.insert(stacked.state_updates.begin(), stacked.state_updates.end());
}

Tensor Context::state(std::string_view name) const {
  const std::string full = join(name);
  const auto it = state_->find(full);
  if (it == state_->end()) throw Error(ErrorCode::missing_field, "the state lacks this array").at(full);
  return it->second;
}

Tensor Context::key() {
  Tensor key = own_key();
  for (const Tensor& index : pieces_) key = fold_in(key, index);
  return key;
}

Tensor Context::own_key() {
  if (key_ && current_trace().usable(key_)) return key_;
  if (parent_ == nullptr) {
    throw Error(ErrorCode::wrong_context, "a random draw, and the call was given no key").at(path_);
  }
  const Tensor above = parent_->key();
  key_ = index_ ? fold_in(above, *index_) : fold_in(above, name_);
  if (call_ > 0) key_ = fold_in(key_, call_);  // a child called again draws anew
  return key_;
}

Tensor Context::draw(std::string_view name) {
  if (!draws_.emplace(name).second) {
    throw Error(ErrorCode::wrong_context, fmt::format("the draw '{}' was made twice", name))
        .at(path_)
        .hint("give each draw of a module its own name");
  }
  return fold_in(key(), name);
}

bool is_training() { return Context::current().training(); }
Tensor rng(std::string_view draw) { return Context::current().draw(draw); }
void summary(std::string_view name, const Tensor& value, Merge merge, const Tensor& weight) {
  collect(Context::current().collected().summaries, name, stop_gradient(value), merge,
          weight ? stop_gradient(weight) : weight);
}
void aux(std::string_view name, const Tensor& value, Merge merge, const Tensor& weight) {
  collect(Context::current().collected().aux, name, value, merge, weight);
}

}  // namespace tenon
