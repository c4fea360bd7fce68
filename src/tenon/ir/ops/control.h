// Ops with regions, in their raw form; tenon/autodiff/functional.h has the typed ones over trees.
#pragma once

#include <functional>
#include <vector>

#include "tenon/ir/trace.h"

namespace tenon {

// body: (i32 index, carry…, x slices…) -> (next carry…, y…). Each of `xs` is [length, …].
// Returns the last carry, then each y stacked as [length, …]. `reverse` runs from the last index to the first.
std::vector<Tensor> scan_op(RegionId body, int64_t length, const std::vector<Tensor>& init,
                            const std::vector<Tensor>& xs, bool reverse = false);

// Runs `body` (state… -> state…) while `condition` (state… -> i1 scalar) holds. Not differentiable.
std::vector<Tensor> while_op(RegionId condition, RegionId body, const std::vector<Tensor>& init);
std::vector<Tensor> while_loop(const std::vector<Tensor>& init,
                               const std::function<Tensor(const std::vector<Tensor>&)>& condition,
                               const TensorFn& body);

// The gradients of both ops below flow into what the branches capture.
std::vector<Tensor> cond_op(const Tensor& predicate, RegionId then, RegionId otherwise);
// `predicate` (i1 scalar) ? then() : otherwise(); the regions take no parameters and return the same types.
std::vector<Tensor> cond(const Tensor& predicate, const std::function<std::vector<Tensor>()>& then,
                         const std::function<std::vector<Tensor>()>& otherwise);

std::vector<Tensor> case_op(const Tensor& index, const std::vector<RegionId>& branches);
// branches[index](); `index` is an i32 scalar, and one that is outside [0, number of branches) picks the last. The
// regions take no parameters and return the same types.
std::vector<Tensor> switch_case(const Tensor& index, const std::vector<std::function<std::vector<Tensor>()>>& branches);

// True for the op named so; how transforms recognize structure.
bool is_scan(const OpInfo& op);
// cond or case: one of its regions runs.
bool is_branch(const OpInfo& op);
// Number of carried values of a scan.
int64_t scan_num_carry(const OpInfo& op);

}  // namespace tenon
