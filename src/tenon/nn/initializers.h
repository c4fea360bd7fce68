// How parameters start. Standard deviations and scales are finite and at least 0.
#pragma once

#include "tenon/autodiff/tree.h"
#include "tenon/base/mesh.h"
#include "tenon/nn/param.h"

namespace tenon {

struct Constant {
  double value = 0;
  TENON_FN(value)
  Tensor operator()(const InitArgs& args) const;
};
// Normal with this standard deviation.
struct Normal {
  double stddev = 0.02;
  void check(Checker& c) const;
  TENON_FN(stddev)
  Tensor operator()(const InitArgs& args) const;
};
// Normal with standard deviation scale / sqrt(fan_in).
struct FanInNormal {
  double scale = 1;
  void check(Checker& c) const;
  TENON_FN(scale)
  Tensor operator()(const InitArgs& args) const;
};
// Uniform in scale / sqrt(fan_in) * [-1, 1): what PyTorch's linear layers and convolutions start with.
struct FanInUniform {
  double scale = 1;
  void check(Checker& c) const;
  TENON_FN(scale)
  Tensor operator()(const InitArgs& args) const;
};

// The whole state of a module at the start, padded to what `mesh` divides, named as describe_state names it. The values
// of the logical part depend on key and path alone: not on the mesh, nor on whether a stack is scanned.
Nest init_state(const Module& root, const Tensor& key, const Mesh& mesh);

}  // namespace tenon
