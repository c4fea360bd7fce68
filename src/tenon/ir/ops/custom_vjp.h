// A function with its own rule for the gradient.
#pragma once

#include <functional>
#include <vector>

#include "tenon/ir/trace.h"

namespace tenon {

struct CustomVjp {
  struct Forward {
    std::vector<Tensor> results;
    std::vector<Tensor> residuals;  // what the backward pass needs; inputs and results cost nothing
  };
  // Traced on the inputs. It may use integers from outside, but no floats: those would get no cotangent.
  std::function<Forward(const std::vector<Tensor>& inputs)> forward;
  // From the residuals and one cotangent for each result (empty for integers) to one for each input (empty: zero).
  std::function<std::vector<Tensor>(const std::vector<Tensor>& residuals, const std::vector<Tensor>& cotangents)>
      backward;
};

// The results of `rule.forward`, differentiated by `rule.backward`. A second derivative goes through the backward
// function as far as it depends on inputs and results; what it needs of other residuals throws `not_differentiable`.
// Throws `wrong_context` when the forward function uses floats from outside, `shape_mismatch` when a cotangent doesn't
// have its input's type.
std::vector<Tensor> custom_vjp(const std::vector<Tensor>& inputs, const CustomVjp& rule);

}  // namespace tenon
