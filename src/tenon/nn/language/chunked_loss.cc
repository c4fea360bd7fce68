#include "tenon/nn/language/chunked_loss.h"

#include <fmt/format.h>

#include "tenon/autodiff/functional.h"
#include "tenon/ir/ops.h"

namespace tenon {
namespace {

// [B,T,…] -> [C,B,T/C,…].
Tensor split_tokens(const Tensor& x, int64_t num_chunks, std::string_view field) {
  const int64_t T = x.dim(1);
  if (T % num_chunks != 0) {
    const std::string& module = Context::current().path();
    throw Error(ErrorCode::shape_mismatch, "the pieces of a loss don't divide its sequences")
        .at(module.empty() ? std::string(field) : fmt::format("{}.{}", module, field))
        .got(fmt::format("{} pieces of {} tokens", num_chunks, T));
  }
  Dims dims = x.dims(), order{1, 0, 2};
  dims[1] = T / num_chunks;
  dims.insert(dims.begin() + 1, num_chunks);
  for (int64_t d = 3; d < static_cast<int64_t>(dims.size()); ++d) order.push_back(d);
  return transpose(reshape(x, dims), order);
}

}  // namespace

LossSum chunked_loss(const std::vector<Tensor>& arrays, int64_t num_chunks,
                     const std::function<LossSum(const std::vector<Tensor>&)>& loss, std::string_view field) {
  if (num_chunks == 1) return loss(arrays);
  std::vector<Tensor> pieces;
  for (const Tensor& x : arrays) pieces.push_back(split_tokens(x, num_chunks, field));
  const TensorType scalar{wide_dtype(arrays[0].dtype()), {}};
  Context& here = Context::current();
  const auto step = [&](const Tensor& index, const LossSum& sums, const std::vector<Tensor>& piece) {
    const RestoreContext restore(here);
    Collected collected;
    here.set_collected(&collected);
    here.push_piece(index);
    const RematScope scope{RematPolicy(SaveNothing{})};
    const LossSum part = loss(piece);
    return std::pair(LossSum{sums.sum + part.sum, sums.weight + part.weight}, std::move(collected));
  };
  const auto [sums, collected] = scan(step, LossSum{zeros(scalar), zeros(scalar)}, pieces);
  if (!collected.state_updates.empty()) {
    throw Error(ErrorCode::unsupported, "a state updated in the pieces of a loss")
        .at(collected.state_updates.begin()->first)
        .hint("set loss_chunks = 1");
  }
  here.collect_stacked(collected);
  return sums;
}

}  // namespace tenon
