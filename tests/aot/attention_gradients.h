// A program with attention and its gradient, for a platform's kernels.
#pragma once

#include "tenon/autodiff/functional.h"
#include "tenon/ir/ops.h"
#include "tenon/kernels/kernels.h"
#include "tenon/runtime/jit.h"

namespace tenon {

// The gradients of attention, of which the context has its query for a cotangent.
struct AttentionGradients {
  DType dtype = DType::bf16;
  int64_t B = 4, N = 8, K = 2, T = 256, H = 64;
  AttentionOptions options{.scale = 0.125,
                           .pattern = {.causal = true, .segments = true},
                           .mask = {},
                           .block = 128,
                           .partition = {{"data", "fsdp"}, "model"}};
  bool documents = false;  // positions and segments come from the batch
  bool lse = false;        // lse has a cotangent too

  Program program(const KernelList& kernels, const Mesh& mesh = {}) const {
    using Tensors = std::vector<Tensor>;
    const TensorType q{dtype, {B, N, T, H}}, k{dtype, {B, K, T, H}}, places{DType::i32, {B, T}};
    const std::vector<TensorType> types{q, k, k, places};
    Graph graph = make_graph(types, [&](const Tensors& t) {
      const Tensor positions = documents ? t[3] : iota(places, 1), segments = documents ? t[3] : zeros(places);
      const auto f = [&](const Tensors& x) {
        const AttentionResult r = attention({x[0], x[1], x[2], positions, positions, segments, segments}, options);
        return Tensors{r.context, r.lse};
      };
      const Vjp both = vjp(f, {t[0], t[1], t[2]}, {true, true, true});
      return both.pull({t[0], lse ? both.results[1] : Tensor()});
    });
    ProgramSpec spec;
    spec.mesh = mesh;
    spec.kernels = kernels;
    return make_program(graph, spec);
  }
  // What became of the two, as text.
  std::vector<std::string> choices(const KernelList& kernels) const {
    std::vector<std::string> out;
    for (const KernelChoice& choice : program(kernels).kernels) out.push_back(to_string(choice));
    return out;
  }
};

}  // namespace tenon
