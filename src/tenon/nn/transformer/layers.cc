#include "tenon/nn/transformer/layers.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/config/define.h"

namespace tenon {
namespace {

thread_local const LayerPlace* innermost_layer = nullptr;

// Of an output of one place of the pattern, what each of its layers gave, along a new first dimension.
class StackedOutput {
 public:
  void add_stacked(const Output& all) { add(all.value, all.weight, all.merge); }
  void add_one(const Output& one) {
    add(expand_dims(one.value, 0), one.weight ? expand_dims(one.weight, 0) : one.weight, one.merge);
  }
  Output whole() const { return {join(values_), weights_.empty() ? Tensor() : join(weights_), merge_}; }

 private:
  static Tensor join(const std::vector<Tensor>& parts) { return parts.size() == 1 ? parts[0] : concatenate(parts, 0); }
  void add(const Tensor& value, const Tensor& weight, Merge merge) {
    merge_ = merge;
    values_.push_back(value);
    if (weight) weights_.push_back(weight);
  }

  std::vector<Tensor> values_, weights_;
  Merge merge_ = Merge::mean;
};

// `stacked` with the outputs of the layers apart. `name_of` says what a layer's path starts with, apart and in a loop.
template <class NameOf>
Outputs stack_outputs(const Outputs& stacked, const std::vector<const Outputs*>& apart, const NameOf& name_of) {
  std::map<std::string, StackedOutput> whole;
  for (const auto& [path, o] : stacked) whole[path].add_stacked(o);
  for (size_t i = 0; i < apart.size(); ++i) {
    const auto [own, shared] = name_of(i);
    for (const auto& [path, o] : *apart[i]) whole[shared + path.substr(own.size())].add_one(o);
  }
  Outputs out;
  for (const auto& [path, o] : whole) out.emplace(path, o.whole());
  return out;
}

}  // namespace

LayerStack::LayerStack(std::string name, int64_t period, int64_t num_layers, StackForm form)
    : name_(std::move(name)), period_(period), num_layers_(num_layers), form_(form) {
  if (period < 1 || num_layers < 1) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a stack of {} layers, of a pattern of {}", num_layers, period))
        .at(name_);
  }
}

std::string LayerStack::child_name(int64_t number) const {
  return number < first_apart() ? fmt::format("{}::{}", number % period_, period_) : std::to_string(number);
}

void LayerStack::add(int64_t place, const Module* module) {
  const auto add_entry = [&](int64_t number, int64_t repeats) {
    ChildEntry entry{child_name(number), module};
    entry.indexed = true;
    entry.first = number;
    entry.period = period_;
    entry.repeats = repeats;
    if (repeats > 0 && form_ == StackForm::pipeline) entry.axis = "pipeline";
    add_child(std::move(entry));
  };
  if (scanned_repeats() > 0) add_entry(place, scanned_repeats());
  for (int64_t number = first_apart() + place; number < num_layers_; number += period_) add_entry(number, 0);
}

Nest LayerStack::slices(const Context& here) const {
  Nest out;
  for (int64_t place = 0; place < std::min(first_apart(), period_); ++place) {
    const std::string prefix = here.join(child_name(place)) + ".";
    add_with_prefix(out, prefix, sub_nest(*here.state_nest(), prefix));
  }
  return out;
}

void LayerStack::collect(Context& here, Collected stacked, const std::vector<Collected>& apart) const {
  std::vector<const Outputs*> summaries, auxes;
  for (const Collected& layer : apart) {
    summaries.push_back(&layer.summaries);
    auxes.push_back(&layer.aux);
    stacked.state_updates.insert(layer.state_updates.begin(), layer.state_updates.end());
  }
  const auto name_of = [&](size_t i) {
    const int64_t number = first_apart() + static_cast<int64_t>(i);
    return std::pair(here.join(child_name(number)), here.join(fmt::format("{}::{}", number % period_, period_)));
  };
  stacked.summaries = stack_outputs(stacked.summaries, summaries, name_of);
  stacked.aux = stack_outputs(stacked.aux, auxes, name_of);
  here.collect_stacked(stacked);
}

void LayerStack::check_pattern() const {
  if (first_apart() == num_layers_) return;
  throw Error(ErrorCode::mesh_mismatch, "a pipeline of layers that aren't whole patterns")
      .at(std::string(current_trace().path()))
      .got(fmt::format("{} layers, of a pattern of {}", num_layers_, period_))
      .hint("choose a number of layers that the pattern divides, or mesh.pipeline = 1");
}

namespace {

// [M, L, B / M] of microbatches with strided examples -> [L, B].
Tensor join_examples(const Tensor& x) { return reshape(transpose(x, {1, 2, 0}), {x.dim(1), x.dim(2) * x.dim(0)}); }

void require_no_updates(const Collected& collected) {
  if (collected.state_updates.empty()) return;
  throw Error(ErrorCode::unsupported, "a state that is updated in a pipeline")
      .at(collected.state_updates.begin()->first)
      .hint("use form = \"scan\", or turn off what updates it");
}

}  // namespace

void LayerStack::collect_pipelined(Context& here, const Collected& collected) const {
  require_no_updates(collected);
  Collected stacked;
  stacked.summaries = merge_stacked(collected.summaries);
  Outputs auxes = collected.aux;
  for (auto it = auxes.begin(); it != auxes.end();) {
    const Output& o = it->second;
    const bool by_example = o.merge == Merge::sum && o.value.rank() == 3;  // as auxiliary losses are
    if (by_example) stacked.aux.emplace(it->first, Output{join_examples(o.value), {}, o.merge});
    it = by_example ? auxes.erase(it) : std::next(it);
  }
  stacked.aux.merge(merge_stacked(auxes));
  here.collect_stacked(stacked);
}

void LayerStack::collect_microbatches(Context& here, const Collected& collected) const {
  require_no_updates(collected);
  for (const auto& [path, output] : collected.aux) {
    if (output.merge != Merge::sum || output.value.rank() != 2) continue;
    throw Error(ErrorCode::unsupported,
                "a number of each example, as an auxiliary loss, outside the layers of a pipeline that takes the loss")
        .at(path)
        .hint("set pipeline.schedule = \"gpipe\"");
  }
  here.collect_stacked(collected);
}

LayerPlace layer_place() {
  if (innermost_layer != nullptr) return *innermost_layer;
  throw Error(ErrorCode::unsupported, "a module that asks which layer it is in stands in no stack of layers")
      .at(Context::current().path());
}

LayerScope::LayerScope(LayerPlace place) : place_(std::move(place)), previous_(innermost_layer) {
  innermost_layer = &place_;
}

LayerScope::~LayerScope() { innermost_layer = previous_; }

Nest sub_nest(const Nest& nest, const std::string& prefix) {
  Nest out;
  for (auto it = nest.lower_bound(prefix); it != nest.end() && it->first.starts_with(prefix); ++it) {
    out.emplace(it->first.substr(prefix.size()), it->second);
  }
  return out;
}

void add_with_prefix(Nest& nest, const std::string& prefix, const Nest& part) {
  for (const auto& [name, tensor] : part) nest.insert_or_assign(prefix + name, tensor);
}

}  // namespace tenon
