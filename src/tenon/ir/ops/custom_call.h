// Calls of what one platform alone has.
#pragma once

#include <string>
#include <vector>

#include "tenon/ir/trace.h"

namespace tenon {

struct CustomCall {
  std::string target;
  // What stands between the braces: "api_version = 4 : i32, backend_config = {…}, operand_layouts = […]".
  std::string attributes;
};

// Emits the call, which gives `results`. Traced by kernels for their platform (passes/select_kernels.h): it has no
// gradient, and the interpreter refuses it.
std::vector<Tensor> custom_call(const CustomCall& call, const std::vector<Tensor>& operands,
                                const std::vector<TensorType>& results);

bool is_custom_call(const OpInfo& op);

}  // namespace tenon
