// The transforms, over trees: scan, vjp, value_and_grad, grad.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "tenon/autodiff/tree.h"
#include "tenon/ir/ops/control.h"

namespace tenon {

struct Vjp {
  std::vector<Tensor> results;
  // One cotangent per result (empty: zero) -> one per input (empty where not active).
  std::function<std::vector<Tensor>(const std::vector<Tensor>&)> pull;
};

// Runs `f` on `inputs` here and remembers how to differentiate it. Tensors `f` captures are constants to it. Results
// from `num_pulled` on get no cotangent, so they need not be differentiable.
Vjp vjp(const TensorFn& f, const std::vector<Tensor>& inputs, const std::vector<bool>& active,
        std::optional<size_t> num_pulled = {});

// scan(body, init, xs): body(index, carry, x) -> {carry, y} over the first dimension of every tensor of `xs`; the y are
// stacked. Outer tensors may be captured. Without xs give the length. Throws `shape_mismatch` when lengths or carries
// differ.
template <Tree C, Tree X, std::invocable<Tensor, C, X> F>
auto scan(F body, const C& init, const X& xs, std::optional<int64_t> length = {}, bool reverse = false) {
  using Result = std::invoke_result_t<F, Tensor, C, X>;
  using Y = typename Result::second_type;
  const std::vector<Tensor> carry = flatten(init), inputs = flatten(xs);
  std::vector<TensorType> types{{DType::i32, {}}};
  for (const Tensor& t : carry) types.push_back(t.type());
  for (const Tensor& t : inputs) {
    if (!length) length = t.dim(0);
    types.push_back({t.dtype(), {t.dims().begin() + 1, t.dims().end()}});
  }
  if (!length) throw Error(ErrorCode::invalid_argument, "a scan without inputs needs a length");
  std::optional<Y> y_like;
  const RegionId region = trace_region(current_trace(), types, [&](const std::vector<Tensor>& args) {
    size_t next = 1;
    C c = unflatten(init, args, next);
    X x = unflatten(xs, args, next);
    Result result = body(args[0], std::move(c), std::move(x));
    std::vector<Tensor> out = flatten(result.first);
    const std::vector<Tensor> ys = flatten(result.second);
    out.insert(out.end(), ys.begin(), ys.end());
    y_like = std::move(result.second);
    return out;
  });
  const std::vector<Tensor> out = scan_op(region, *length, carry, inputs, reverse);
  size_t next = 0;
  C last = unflatten(init, out, next);
  Y ys = unflatten(std::move(*y_like), out, next);
  return std::pair<C, Y>(std::move(last), std::move(ys));
}

// 1 of the type of a scalar float; throws `shape_mismatch` for anything else.
Tensor scalar_seed(const Tensor& value);
// `grads` with zeros for what is missing (floats only).
std::vector<Tensor> gradients_or_zero(std::vector<Tensor> grads, const std::vector<Tensor>& inputs);

template <class A, class P>
struct ValueAndGrad {
  Tensor value;  // scalar
  A aux;
  P grads;  // zeros where `value` doesn't depend on a parameter; empty for integer parameters
};

// f(params) -> {scalar float, aux tree}: its value, aux and the gradient of the value by every float of `params`.
// Throws `shape_mismatch` when the value isn't a scalar float, `not_differentiable` naming the op.
template <Tree P, class F>
auto value_and_grad(F f, const P& params) {
  using A = typename std::invoke_result_t<F, P>::second_type;
  const std::vector<Tensor> inputs = flatten(params);
  std::optional<A> aux_like;
  const Vjp both = vjp(
      [&](const std::vector<Tensor>& args) {
        auto [value, aux] = f(unflatten(params, args));
        std::vector<Tensor> out{value};
        const std::vector<Tensor> rest = flatten(aux);
        out.insert(out.end(), rest.begin(), rest.end());
        aux_like = std::move(aux);
        return out;
      },
      inputs, std::vector<bool>(inputs.size(), true), 1);
  size_t next = 1;
  ValueAndGrad<A, P> out{both.results[0], unflatten(std::move(*aux_like), both.results, next), {}};
  std::vector<Tensor> cts(both.results.size());
  cts[0] = scalar_seed(out.value);
  out.grads = unflatten(params, gradients_or_zero(both.pull(cts), inputs));
  return out;
}

// The gradient alone of f(params) -> scalar float.
template <Tree P, class F>
P grad(F f, const P& params) {
  return value_and_grad([&](P p) { return std::pair<Tensor, std::vector<Tensor>>(f(std::move(p)), {}); }, params).grads;
}

}  // namespace tenon
