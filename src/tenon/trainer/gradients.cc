#include "tenon/trainer/gradients.h"

#include <fmt/format.h>

#include "tenon/autodiff/functional.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/random.h"
#include "tenon/nn/experts/auxiliary_loss.h"

namespace tenon {
namespace {

// What adds up over microbatches.
struct Sums {
  Nest grads;
  LossSum loss;
  Nest states;
  TENON_TREE(grads, loss, states)
};

Tensor total(const Tensor& a, const Tensor& b) { return a + convert(b, DType::f32); }

// The entries of `states` that the model updates by their cotangents.
Nest updated_by_cotangent(const Model& model, const Nest& states) {
  Nest out;
  for (const ParamInfo& info : describe_state(model)) {
    if (!info.trainable && info.source == StateSource::cotangent) out.emplace(info.path, states.at(info.path));
  }
  return out;
}

// One microbatch added to `before`; and its summaries.
std::pair<Sums, Outputs> add_microbatch(const Model& model, const Nest& params, const Sums& before, const Nest& batch,
                                        const Tensor& key) {
  const Nest by_cotangent = updated_by_cotangent(model, before.states);
  Nest differentiated = params;
  differentiated.insert(by_cotangent.begin(), by_cotangent.end());
  const auto loss = [&](Nest p) {
    p.insert(before.states.begin(), before.states.end());
    auto out = functional(model, &Model::forward, p, key, true, batch);
    return std::pair(out.result.sum, std::pair(out.result.weight, std::move(out.collected)));
  };
  const auto all = value_and_grad(loss, differentiated);
  require_no_auxiliary_loss(all.aux.second.aux);
  Sums after = before;
  after.loss = {total(before.loss.sum, all.value), total(before.loss.weight, all.aux.first)};
  for (auto& [path, sum] : after.grads) sum = total(sum, all.grads.at(path));
  for (const auto& [path, next] : all.aux.second.state_updates) {
    after.states.at(path) = by_cotangent.contains(path) ? all.grads.at(path) : next;
  }
  return {std::move(after), all.aux.second.summaries};
}

// [B, …] -> [accumulation, B / accumulation, …], microbatch first: example i goes to microbatch i mod accumulation.
Tensor split_examples(const std::string& name, const Tensor& x, int64_t accumulation) {
  if (x.dim(0) % accumulation != 0) {
    throw Error(ErrorCode::invalid_argument, fmt::format("{} examples in {} microbatches", x.dim(0), accumulation))
        .at(name)
        .hint("choose a batch size that accumulation divides");
  }
  Dims dims = x.dims(), order{1, 0};
  dims[0] /= accumulation;
  dims.insert(dims.begin() + 1, accumulation);
  for (int64_t d = 2; d < static_cast<int64_t>(dims.size()); ++d) order.push_back(d);
  return transpose(reshape(x, dims), order);
}

std::pair<Sums, Outputs> all_microbatches(const Model& model, const Nest& params, const Sums& start, Nest batch,
                                          const Tensor& key, int64_t accumulation) {
  if (accumulation == 1) return add_microbatch(model, params, start, batch, fold_in(key, 0U));
  for (auto& [name, x] : batch) x = split_examples(name, x, accumulation);
  const auto body = [&](const Tensor& index, const Sums& sums, const Nest& part) {
    return add_microbatch(model, params, sums, part, fold_in(key, index));
  };
  auto [sums, summaries] = scan(body, start, batch);
  return {std::move(sums), merge_stacked(summaries)};
}

}  // namespace

Gradients gradients(const Model& model, const Nest& params, const Nest& states, const Nest& batch, const Tensor& key,
                    int64_t accumulation) {
  if (accumulation > 1 && model.mixes_examples()) {
    throw Error(ErrorCode::unsupported,
                "the model compares the examples of a batch, and microbatches don't see each other")
        .at("accumulation")
        .got(fmt::format("{}", accumulation))
        .expected("1")
        .hint("set accumulation = 1 and split the batch over more devices");
  }
  // Sums start from -0.0, which changes no number it is added to: the passes drop the addition.
  const Tensor nothing = full({DType::f32, {}}, -0.0), zero = zeros({DType::f32, {}});
  Sums start{{}, {nothing, nothing}, states};
  for (const auto& [path, p] : params) start.grads.emplace(path, full({DType::f32, p.dims()}, -0.0));
  auto [sums, summaries] = all_microbatches(model, params, start, batch, key, accumulation);

  const Tensor& weight = sums.loss.weight;
  const Tensor divisor = select(greater(weight, zero), weight, full_like(weight, 1));
  Gradients out{std::move(sums.grads), sums.loss.sum / divisor, weight, std::move(sums.states), std::move(summaries)};
  for (auto& [path, g] : out.grads) g = g / divisor;
  return out;
}

}  // namespace tenon
