#include "tenon/nn/transformer/layers.h"

#include <fmt/format.h>

#include "tenon/config/define.h"

namespace tenon {
namespace {

// Stacks each output of the layers at one place of the pattern along a new first dimension.
Outputs stack_outputs(const std::vector<const Outputs*>& layers, const std::string& from_prefix_of_first,
                      const std::vector<std::string>& prefixes, const std::string& to_prefix) {
  Outputs out;
  for (const auto& [path, first] : *layers[0]) {
    const std::string suffix = path.substr(from_prefix_of_first.size());
    std::vector<Tensor> values, weights;
    for (size_t i = 0; i < layers.size(); ++i) {
      const Output& o = layers[i]->at(prefixes[i] + suffix);
      values.push_back(expand_dims(o.value, 0));
      if (o.weight) weights.push_back(expand_dims(o.weight, 0));
    }
    Output stacked{concatenate(values, 0), {}, first.merge};
    if (!weights.empty()) stacked.weight = concatenate(weights, 0);
    out.emplace(to_prefix + suffix, std::move(stacked));
  }
  return out;
}

}  // namespace

LayerStack::LayerStack(std::string name, int64_t period, int64_t repeats, StackForm form)
    : name_(std::move(name)), period_(period), repeats_(repeats), form_(form) {
  if (period < 1 || repeats < 1) {
    throw Error(ErrorCode::invalid_argument, fmt::format("a stack of {} layers repeated {} times", period, repeats))
        .at(name_);
  }
}

std::string LayerStack::child_name(int64_t place, int64_t repeat) const {
  return scanned() ? fmt::format("{}::{}", place, period_) : fmt::format("{}", repeat * period_ + place);
}

void LayerStack::add(int64_t place, const Module* module) {
  for (int64_t r = 0; r < (scanned() ? 1 : repeats_); ++r) {
    ChildEntry entry{child_name(place, r), module};
    entry.indexed = true;
    entry.first = scanned() ? place : r * period_ + place;
    entry.period = period_;
    entry.repeats = scanned() ? repeats_ : 0;
    add_child(std::move(entry));
  }
}

Nest LayerStack::slices(const Context& here) const {
  const std::string prefix = here.path() + ".";
  Nest out;
  for (const auto& [path, tensor] : *here.state_nest()) {
    if (path.starts_with(prefix)) out.emplace(path, tensor);
  }
  return out;
}

void LayerStack::merge_unrolled(Context& here, const std::vector<Collected>& layers) const {
  Collected stacked;
  for (int64_t p = 0; p < period_; ++p) {
    std::vector<const Outputs*> summaries, auxes;
    std::vector<std::string> prefixes;
    for (int64_t r = 0; r < repeats_; ++r) {
      const Collected& layer = layers[static_cast<size_t>(r * period_ + p)];
      summaries.push_back(&layer.summaries);
      auxes.push_back(&layer.aux);
      prefixes.push_back(here.join(child_name(p, r)));
      stacked.state_updates.insert(layer.state_updates.begin(), layer.state_updates.end());
    }
    const std::string to = here.join(fmt::format("{}::{}", p, period_));
    stacked.summaries.merge(stack_outputs(summaries, prefixes[0], prefixes, to));
    stacked.aux.merge(stack_outputs(auxes, prefixes[0], prefixes, to));
  }
  here.collect_stacked(stacked);
}

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
