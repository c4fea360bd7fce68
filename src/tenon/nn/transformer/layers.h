// A stack of layers: a pattern, repeated as long as there are layers. One class, in forms that agree.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenon/autodiff/functional.h"
#include "tenon/ir/mesh_scope.h"
#include "tenon/ir/ops/contract.h"
#include "tenon/ir/ops/elementwise.h"
#include "tenon/ir/ops/indexing.h"
#include "tenon/ir/ops/shape.h"
#include "tenon/nn/model.h"
#include "tenon/nn/transformer/one_f_one_b.h"

namespace tenon {

// scan: one loop over stacked arrays, quick to compile, for training. unroll: every layer apart, for decoding and small
// models. pipeline: as scan, but each device along the mesh axis `pipeline` has some of the layers (pipeline.h).
enum class StackForm : uint8_t { scan, unroll, pipeline };
TENON_ENUM(StackForm, scan, unroll, pipeline)

// The node of a stack in the module tree. Its children are "0", "1", … when unrolled; when scanned, one a place in the
// pattern, "1::3" being every third layer from the second on, and those that are left over when the pattern has been
// repeated as often as it fits, by their numbers.
class LayerStack final : public Module {
 public:
  LayerStack(std::string name, int64_t period, int64_t num_layers, StackForm form);
  // The layers of pattern place `place`.
  void add(int64_t place, const Module* module);

  int64_t period() const { return period_; }
  int64_t num_layers() const { return num_layers_; }
  // Whole patterns in the loop; 0: none.
  int64_t scanned_repeats() const { return form_ != StackForm::unroll ? num_layers_ / period_ : 0; }
  // The number of the first layer that isn't in the loop.
  int64_t first_apart() const { return scanned_repeats() * period_; }
  // Of layer `number`, whether it has the child to itself or shares it.
  std::string child_name(int64_t number) const;
  const std::string& name() const { return name_; }
  // The entries of `state` below this stack's context that the loop slices.
  Nest slices(const Context& here) const;
  // What the loop collected, outputs stacked, and each layer apart, in order: adds it to the context's as if all layers
  // had been in the loop.
  void collect(Context& here, Collected stacked, const std::vector<Collected>& apart) const;
  // Throws `mesh_mismatch` when the layers aren't whole patterns.
  void check_pattern() const;
  // Adds what the layers of a pipeline collected, by microbatch and layer [M, L, …]. Throws `unsupported` when a state
  // was updated: microbatches are at different layers at the same time.
  void collect_pipelined(Context& here, const Collected& collected) const;
  // Adds what a part of the model in front of them or behind collected, by microbatch [M, …]. Throws as the above, and
  // for an auxiliary loss.
  void collect_microbatches(Context& here, const Collected& collected) const;

 private:
  std::string name_;
  int64_t period_, num_layers_;
  StackForm form_;
};

// Where the layer that runs stands in the innermost stack around it.
struct LayerPlace {
  Tensor number;  // i32 scalar: 0 in the first layer
  int64_t num_layers = 0;
};
// Throws `unsupported` outside of a stack.
LayerPlace layer_place();
// While it lives, layer_place() gives `place`.
class [[nodiscard]] LayerScope {
 public:
  explicit LayerScope(LayerPlace place);
  ~LayerScope();
  LayerScope(const LayerScope&) = delete;

 private:
  LayerPlace place_;
  const LayerPlace* previous_;
};

// One layer of a stack inside fold: callable as a Child is.
template <class I>
class LayerRef {
 public:
  LayerRef(const I& module, Context& stack, std::string name, LayerPlace place)
      : module_(module), stack_(stack), name_(std::move(name)), place_(std::move(place)) {}
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
    const Context in(module_, stack_, name_, place_.number);
    const LayerScope scope(place_);
    return std::invoke(method, module_, std::forward<A>(a)...);
  }

  const I& module_;
  Context& stack_;
  std::string name_;
  LayerPlace place_;
};

// What a model has before and behind its layers, for Layers::pipeline_loss: of microbatch `index` (i32), `piece` being
// its part of what every layer looks at. What is collected goes to `collected`.
template <Tree C, Tree S>
struct PipelineEnds {
  // What the first layer is given.
  std::function<C(const Tensor& index, const S& piece, Collected& collected)> begin;
  std::function<LossSum(const Tensor& index, const C& carry, const S& piece, Collected& collected)> end;
  // What the layers' outputs [layers, …] add to the loss: a scalar, or an empty tensor for nothing.
  std::function<Tensor(const Outputs& aux, const S& piece)> stage_loss;
};

// The entries of `nest` whose path begins with `prefix`, without it; and back.
Nest sub_nest(const Nest& nest, const std::string& prefix);
void add_with_prefix(Nest& nest, const std::string& prefix, const Nest& part);

template <class I>
class Layers {
 public:
  // `fill` sets what the parent knows of each layer. Layers beyond the last whole pattern are its first ones again.
  // Throws `invalid_argument` on an empty pattern or no layers.
  template <class Fill>
  Layers(Module* parent, std::string_view name, const std::vector<Slot<I>>& pattern, int64_t num_layers, StackForm form,
         Fill fill)
      : parent_(parent),
        stack_(
            std::make_unique<LayerStack>(std::string(name), static_cast<int64_t>(pattern.size()), num_layers, form)) {
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
    Nest next;
    Collected stacked;
    if (stack_->scanned_repeats() > 0) init = fold_scanned(here, std::move(init), states, step, next, stacked);
    std::vector<Collected> apart(static_cast<size_t>(stack_->num_layers() - stack_->first_apart()));
    for (size_t i = 0; i < apart.size(); ++i) {
      const RestoreContext restore(here);
      const int64_t number = stack_->first_apart() + static_cast<int64_t>(i);
      here.set_collected(&apart[i]);
      auto ref = layer(here, number, full({DType::i32, {}}, static_cast<double>(number)));
      const std::string prefix = stack_->child_name(number) + ".";
      auto [state, out] = step(ref, sub_nest(states, prefix), std::move(init));
      add_with_prefix(next, prefix, state);
      init = std::move(out);
    }
    stack_->collect(here, std::move(stacked), apart);
    return {std::move(next), std::move(init)};
  }

  // step(layer, carry, side) -> carry, over all layers in order, in the form `pipeline`. The first dimension of all
  // tensors of `carry` and `side` is of examples; `side` is what every layer looks at. Draws of microbatches are their
  // own. Throws as run_pipeline does.
  template <Tree C, Tree S, class F>
  C pipeline(C init, const S& side, const PipelineConfig& config, F step) const {
    if (program_mesh().size("pipeline") == 1) {
      return fold(std::move(init), [&](auto& layer, C carry) { return step(layer, std::move(carry), side); });
    }
    stack_->check_pattern();
    Context here(*stack_, detail::context_of(*parent_, stack_->name()), stack_->name());
    const ResumeContext parent(*here.parent());
    return pipeline_stages(here, std::move(init), side, config, step);
  }

  // The loss of a batch, in the form `pipeline` under the schedule one_f_one_b: of ends.begin, step(layer, carry, side)
  // over all layers and ends.end. `side` is as in `pipeline`. Throws as run_one_f_one_b and `pipeline` do.
  template <Tree C, Tree S, class F>
  LossSum pipeline_loss(const S& side, const PipelineConfig& config, const PipelineEnds<C, S>& ends, F step) const {
    stack_->check_pattern();
    Context here(*stack_, detail::context_of(*parent_, stack_->name()), stack_->name());
    const ResumeContext parent(*here.parent());
    const Nest slices = stack_->slices(here);
    const S pieces = split_side(side, config);
    Collected at_begin, in_stage, at_end;
    C carry;
    PipelineParts parts;
    parts.begin = [&](const Tensor& index) {
      carry = ends.begin(index, piece_of(pieces, index), at_begin);
      return StageOutput{flatten(carry), flatten(at_begin)};
    };
    parts.stage = [&](const StageInput& in) {
      const S piece = piece_of(pieces, in.microbatch);
      StageOutput out = run_stage(here, in, carry, slices, piece, step, in_stage);
      out.loss = ends.stage_loss(in_stage.aux, piece);
      return out;
    };
    parts.end = [&](const Tensor& index, const std::vector<Tensor>& last) {
      const LossSum loss = ends.end(index, unflatten(carry, last), piece_of(pieces, index), at_end);
      StageOutput out{{}, {loss.weight}, loss.sum};
      for (const Tensor& t : flatten(at_end)) out.collected.push_back(t);
      return out;
    };
    const PipelineLoss out = run_one_f_one_b(program_mesh(), config, stack_->scanned_repeats(), flatten(slices), parts);
    stack_->collect_pipelined(here, unflatten(in_stage, out.stage));
    stack_->collect_microbatches(here, unflatten(at_begin, out.begin));
    size_t next = 1;
    stack_->collect_microbatches(here, unflatten(at_end, out.end, next));
    return {out.loss, reduce_sum(out.end[0], {0})};
  }

  // What make(layer) gives for every layer, named as fold wants it.
  template <class F>
  Nest states(F make) const {
    Context here(*stack_, detail::context_of(*parent_, stack_->name()), stack_->name());
    const ResumeContext parent(*here.parent());
    Nest out;
    const auto add = [&](int64_t number, bool stacked) {
      Nest one = make(layer(here, number, Tensor()));
      if (stacked) {
        for (auto& [name, t] : one) t = broadcast_stack(t);
      }
      add_with_prefix(out, stack_->child_name(number) + ".", one);
    };
    const int64_t first = stack_->first_apart();
    for (int64_t place = 0; place < std::min(first, stack_->period()); ++place) add(place, true);
    for (int64_t number = first; number < stack_->num_layers(); ++number) add(number, false);
    return out;
  }

 private:
  // `index`: the layer's number where the program runs; `number` may be that of another layer in the same child.
  LayerRef<I> layer(Context& here, int64_t number, const Tensor& index) const {
    return {*modules_[static_cast<size_t>(number % stack_->period())], here, stack_->child_name(number),
            LayerPlace{index, stack_->num_layers()}};
  }
  Tensor broadcast_stack(const Tensor& t) const {
    Dims shape = t.dims();
    shape.insert(shape.begin(), stack_->scanned_repeats());
    return broadcast_to(t, shape);
  }

  // Over the layers in the loop; their states go to `next`.
  template <Tree C, class F>
  C fold_scanned(Context& here, C carry, const Nest& states, F step, Nest& next, Collected& stacked) const {
    const RestoreContext restore(here);
    const auto body = [&](const Tensor& index, std::pair<Nest, C> loop, const Nest& slices) {
      Collected collected;
      here.set_state(&slices);
      here.set_collected(&collected);
      for (int64_t p = 0; p < stack_->period(); ++p) {
        const Tensor number = index * static_cast<double>(stack_->period()) + static_cast<double>(p);
        const std::string prefix = stack_->child_name(p) + ".";
        Nest mine = sub_nest(loop.first, prefix);
        for (auto& [name, t] : mine) t = dynamic_index(t, index);
        auto ref = layer(here, p, number);
        auto [state, out] = step(ref, std::move(mine), std::move(loop.second));
        for (const auto& [name, t] : state) {
          Tensor& whole = loop.first.at(prefix + name);
          whole = dynamic_update_index(whole, t, index);
        }
        loop.second = std::move(out);
      }
      return std::pair<std::pair<Nest, C>, Collected>(std::move(loop), std::move(collected));
    };
    Nest looped;
    for (int64_t p = 0; p < stack_->period(); ++p) {
      const std::string prefix = stack_->child_name(p) + ".";
      add_with_prefix(looped, prefix, sub_nest(states, prefix));
    }
    auto [last, collected] = scan(body, std::pair<Nest, C>(std::move(looped), std::move(carry)), stack_->slices(here),
                                  stack_->scanned_repeats());
    next = std::move(last.first);
    stacked = std::move(collected);
    return std::move(last.second);
  }

  template <Tree C, Tree S, class F>
  C pipeline_stages(Context& here, C init, const S& side, const PipelineConfig& config, F step) const {
    const Nest slices = stack_->slices(here);
    const S pieces = split_side(side, config);
    Collected like;
    const auto stage = [&](const StageInput& in) {
      return run_stage(here, in, init, slices, piece_of(pieces, in.microbatch), step, like);
    };
    const PipelineOutput out =
        run_pipeline(program_mesh(), config, stack_->scanned_repeats(), flatten(slices), flatten(init), stage);
    stack_->collect_pipelined(here, unflatten(like, out.collected));
    return unflatten(std::move(init), out.carry);
  }

  // [B,…] -> [M, B / M, …]; and what microbatch `index` has of it.
  template <Tree S>
  static S split_side(S side, const PipelineConfig& config) {
    for_each_tensor(side, [&](Tensor& t) { t = split_microbatches(t, config.microbatches); });
    return side;
  }
  template <Tree S>
  static S piece_of(S pieces, const Tensor& index) {
    for_each_tensor(pieces, [&](Tensor& t) { t = dynamic_index(t, index); });
    return pieces;
  }

  // The layers of one stage, of one microbatch. What they collect, [layers, …], is `collected`.
  template <Tree C, Tree S, class F>
  StageOutput run_stage(Context& here, const StageInput& in, const C& like, const Nest& slices, const S& piece, F step,
                        Collected& collected) const {
    const RestoreContext restore(here);
    here.push_piece(in.microbatch);
    const auto body = [&](const Tensor& index, C carry, const Nest& arrays) {
      Collected mine;
      here.set_state(&arrays);
      here.set_collected(&mine);
      for (int64_t p = 0; p < stack_->period(); ++p) {
        const Tensor number = (in.first + index) * static_cast<double>(stack_->period()) + static_cast<double>(p);
        auto ref = layer(here, p, number);
        carry = step(ref, std::move(carry), piece);
      }
      return std::pair<C, Collected>(std::move(carry), std::move(mine));
    };
    auto [last, stacked] = scan(body, unflatten(like, in.carry), unflatten(slices, in.arrays));
    collected = std::move(stacked);
    return {flatten(last), flatten(collected)};
  }

  Module* parent_;
  std::unique_ptr<LayerStack> stack_;
  std::vector<std::unique_ptr<I>> modules_;
};

}  // namespace tenon
