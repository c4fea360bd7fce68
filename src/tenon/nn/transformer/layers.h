// A stack of layers: a pattern, repeated. One class, two forms that agree to the bit.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tenon/autodiff/functional.h"
#include "tenon/ir/ops/elementwise.h"
#include "tenon/ir/ops/indexing.h"
#include "tenon/ir/ops/shape.h"
#include "tenon/nn/module.h"

namespace tenon {

// scan: one loop over stacked arrays, quick to compile, for training. unroll: every layer apart, for decoding and small
// models.
enum class StackForm : uint8_t { scan, unroll };
TENON_ENUM(StackForm, scan, unroll)

// The node of a stack in the module tree. Its children are "0", "1", … when unrolled; when scanned, one a place in the
// pattern: "1::3" is every third layer from the second on.
class LayerStack final : public Module {
 public:
  LayerStack(std::string name, int64_t period, int64_t repeats, StackForm form);
  // The layers of pattern place `place`.
  void add(int64_t place, const Module* module);

  std::string child_name(int64_t place, int64_t repeat) const;
  int64_t period() const { return period_; }
  int64_t repeats() const { return repeats_; }
  bool scanned() const { return form_ == StackForm::scan; }
  const std::string& name() const { return name_; }
  // The entries of `state` below this stack's context.
  Nest slices(const Context& here) const;
  // Combines what the unrolled layers collected into what the scanned form would have, and adds it to the context's.
  void merge_unrolled(Context& here, const std::vector<Collected>& layers) const;

 private:
  std::string name_;
  int64_t period_, repeats_;
  StackForm form_;
};

// One layer of a stack inside fold: callable as a Child is.
template <class I>
class LayerRef {
 public:
  LayerRef(const I& module, Context& stack, std::string name, Tensor index)
      : module_(module), stack_(stack), name_(std::move(name)), index_(std::move(index)) {}
  template <class... A>
  decltype(auto) operator()(A&&... a) const {
    return call(&I::forward, std::forward<A>(a)...);
  }
  template <class M, class... A>
  decltype(auto) call(M method, A&&... a) const {
    return enter(method, detail::argument(std::forward<A>(a))...);
  }

 private:
  template <class M, class... A>
  decltype(auto) enter(M method, A&&... a) const {
    const Context in(module_, stack_, name_, index_);
    return std::invoke(method, module_, std::forward<A>(a)...);
  }

  const I& module_;
  Context& stack_;
  std::string name_;
  Tensor index_;
};

// The entries of `nest` whose path begins with `prefix`, without it; and back.
Nest sub_nest(const Nest& nest, const std::string& prefix);
void add_with_prefix(Nest& nest, const std::string& prefix, const Nest& part);

template <class I>
class Layers {
 public:
  // `fill` sets what the parent knows of each layer. Throws `invalid_argument` on an empty pattern or no repeats.
  template <class Fill>
  Layers(Module* parent, std::string_view name, const std::vector<Slot<I>>& pattern, int64_t repeats, StackForm form,
         Fill fill)
      : parent_(parent),
        stack_(std::make_unique<LayerStack>(std::string(name), static_cast<int64_t>(pattern.size()), repeats, form)) {
    for (size_t place = 0; place < pattern.size(); ++place) {
      Slot<I> config = pattern[place];
      const std::string where = std::string(name) + "." + std::to_string(place);
      detail::fill_child(where, config, fill);
      modules_.push_back(build_part(where, config));
      stack_->add(static_cast<int64_t>(place), modules_.back().get());
    }
    parent->add_child({std::string(name), stack_.get()});
  }

  // step(layer, carry) -> carry, over all layers in order. `step` is the parent's code: it runs in the parent's
  // context.
  template <Tree C, class F>
  C fold(C init, F step) const {
    return fold(std::move(init), Nest(),
                [&](auto& layer, Nest, C carry) { return std::pair<Nest, C>({}, step(layer, std::move(carry))); })
        .second;
  }

  // step(layer, state, carry) -> {state, carry}; `states` as states() names them. Scanned, a layer's state is read from
  // and written into its place of the stacked arrays.
  template <Tree C, class F>
  std::pair<Nest, C> fold(C init, const Nest& states, F step) const {
    Context here(*stack_, detail::context_of(*parent_, stack_->name()), stack_->name());
    const ResumeContext parent(*here.parent());
    return stack_->scanned() ? fold_scanned(here, std::move(init), states, step)
                             : fold_unrolled(here, std::move(init), states, step);
  }

  // What make(layer) gives for every layer, named as fold wants it.
  template <class F>
  Nest states(F make) const {
    Context here(*stack_, detail::context_of(*parent_, stack_->name()), stack_->name());
    const ResumeContext parent(*here.parent());
    Nest out;
    for (int64_t r = 0; r < (stack_->scanned() ? 1 : stack_->repeats()); ++r) {
      for (int64_t p = 0; p < stack_->period(); ++p) {
        Nest one = make(layer(here, p, r, Tensor()));
        if (stack_->scanned()) {
          for (auto& [name, t] : one) t = broadcast_stack(t);
        }
        add_with_prefix(out, stack_->child_name(p, r) + ".", one);
      }
    }
    return out;
  }

 private:
  LayerRef<I> layer(Context& here, int64_t place, int64_t repeat, const Tensor& index) const {
    return {*modules_[static_cast<size_t>(place)], here, stack_->child_name(place, repeat), index};
  }
  Tensor broadcast_stack(const Tensor& t) const {
    Dims shape = t.dims();
    shape.insert(shape.begin(), stack_->repeats());
    return broadcast_to(t, shape);
  }

  template <Tree C, class F>
  std::pair<Nest, C> fold_unrolled(Context& here, C carry, const Nest& states, F step) const {
    Nest next;
    Collected* outer = &here.collected();
    std::vector<Collected> collected(static_cast<size_t>(stack_->period() * stack_->repeats()));
    for (int64_t r = 0; r < stack_->repeats(); ++r) {
      for (int64_t p = 0; p < stack_->period(); ++p) {
        const int64_t number = r * stack_->period() + p;
        here.set_collected(&collected[static_cast<size_t>(number)]);
        const std::string prefix = stack_->child_name(p, r) + ".";
        auto ref = layer(here, p, r, full({DType::i32, {}}, static_cast<double>(number)));
        auto [state, out] = step(ref, sub_nest(states, prefix), std::move(carry));
        add_with_prefix(next, prefix, state);
        carry = std::move(out);
      }
    }
    here.set_collected(outer);
    stack_->merge_unrolled(here, collected);
    return {std::move(next), std::move(carry)};
  }

  template <Tree C, class F>
  std::pair<Nest, C> fold_scanned(Context& here, C carry, const Nest& states, F step) const {
    const Nest* outer_state = here.state_nest();
    Collected* outer = &here.collected();
    const auto body = [&](const Tensor& index, std::pair<Nest, C> loop, const Nest& slices) {
      Collected collected;
      here.set_state(&slices);
      here.set_collected(&collected);
      for (int64_t p = 0; p < stack_->period(); ++p) {
        const Tensor number = index * static_cast<double>(stack_->period()) + static_cast<double>(p);
        const std::string prefix = stack_->child_name(p, 0) + ".";
        Nest mine = sub_nest(loop.first, prefix);
        for (auto& [name, t] : mine) t = dynamic_index(t, index);
        auto ref = layer(here, p, 0, number);
        auto [state, out] = step(ref, std::move(mine), std::move(loop.second));
        for (const auto& [name, t] : state) {
          Tensor& whole = loop.first.at(prefix + name);
          whole = dynamic_update_index(whole, t, index);
        }
        loop.second = std::move(out);
      }
      return std::pair<std::pair<Nest, C>, Collected>(std::move(loop), std::move(collected));
    };
    auto [last, collected] =
        scan(body, std::pair<Nest, C>(states, std::move(carry)), stack_->slices(here), stack_->repeats());
    here.set_state(outer_state);
    here.set_collected(outer);
    here.collect_stacked(collected);
    return last;
  }

  Module* parent_;
  std::unique_ptr<LayerStack> stack_;
  std::vector<std::unique_ptr<I>> modules_;
};

}  // namespace tenon
