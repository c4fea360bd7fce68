// Puts a platform's kernels in the place of the bodies of kernel ops, and of ordinary ops.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tenon/base/mesh.h"
#include "tenon/ir/kernel.h"
#include "tenon/ir/ops/custom_call.h"

namespace tenon {

// An op as one device sees it.
struct KernelUse {
  Trace& trace;
  const OpInfo& op;
  std::vector<TensorType> operands, results;  // the device's part
  const Attrs& attrs() const { return op.attrs; }
};

// What one platform has for one kernel.
struct KernelImplementation {
  std::string_view kernel;  // name of the op
  std::string_view name;    // what reports call it
  // Why it can't do this; "" when it can.
  std::function<std::string(const KernelUse&)> refuse;
  // Traces what the op's results are on one device, from its operands there: as a rule one custom_call and what puts
  // arrays in its form.
  std::function<std::vector<Tensor>(const KernelUse&, const std::vector<Tensor>& operands)> lower;
  std::string_view takes = {};  // for docs/kernels.md: what `refuse` lets through, in words
};

// What a platform has, best first.
using KernelList = std::vector<KernelImplementation>;

// What became of the kernel ops of one kind at one module path.
struct KernelChoice {
  std::string kernel, path;
  std::string implementation;         // "" : its body in ordinary ops
  std::vector<std::string> refusals;  // "name: reason" of what was asked before
  int64_t count = 1;
  bool operator==(const KernelChoice&) const = default;
};

// Puts in the place of every kernel op of `graph` what the first implementation in `kernels` that takes it makes of it;
// the others keep their body. On a mesh of several devices an op is asked for as its `partition` splits it, and runs in
// a manual region. An ordinary op outside of bodies is asked for where a program has it to itself: on one device or in
// a manual region; it is reported when it is taken.
std::vector<KernelChoice> select_kernels(Graph& graph, const KernelList& kernels, const Mesh& mesh);

// "decoder.layer.attention: attention x2 by cpu_flash_attention", with the refusals.
std::string to_string(const KernelChoice& choice);

}  // namespace tenon
