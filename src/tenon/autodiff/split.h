// `split`: one region into a forward and a backward one. Under grad, scan, remat and hand-written schedules.
#pragma once

#include <vector>

#include "tenon/ir/trace.h"

namespace tenon {

// What is differentiated: which parameters and captures want a cotangent, which results give one.
struct Active {
  std::vector<bool> params;
  std::vector<bool> results;
  std::vector<ValueId> captures;
};

// How often a region runs. What a loop saves is stacked, and what doesn't change from step to step is never saved; of
// branches only one runs.
enum class Runs : uint8_t { once, in_loop, in_branch };

struct SplitOptions {
  // Parameters the backward pass has anyway (slices of a scan's inputs, its index): never saved.
  std::vector<bool> free_params;
  // Results the forward pass hands out whole (outputs of a scan that are stacked anyway): saving them costs nothing.
  std::vector<bool> free_results;
  Runs runs = Runs::once;
};

// A value the backward region reads: parameter `param` of the split region, or else result `forward_result` of
// `forward`.
struct Residual {
  bool is_param = false;
  size_t index = 0;
  // Where a policy keeps it; automatic where none decided. What a branch keeps on the host is moved by its caller.
  Save save = Save::automatic;
};

// forward: params… -> results…, saved values…
// backward: residuals…, cotangents of the active results… -> cotangents of the active params…, of the captures…
struct Split {
  RegionId forward = kNoId, backward = kNoId;
  std::vector<Residual> residuals;
};

// Both regions are made in the current region. Captured values are used where they are, never saved.
Split split(Trace& trace, RegionId region, const Active& active, const SplitOptions& options);

}  // namespace tenon
