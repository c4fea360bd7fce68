#include "tenon/nn/experts/auxiliary_loss.h"

#include <fmt/format.h>

#include "tenon/ir/ops.h"

namespace tenon {
namespace {

constexpr std::string_view kSuffix = "_loss";

bool is_loss(const std::string& path, const Output& output) {
  return path.ends_with(kSuffix) && output.merge == Merge::sum && output.value.rank() == 1;
}

void summarize(std::string_view name, const Tensor& sum, const Tensor& weight) {
  summary(name, sum / maximum(weight, full_like(weight, 1e-30)), Merge::weighted_mean, weight);
}

}  // namespace

void auxiliary_loss(std::string_view name, const Tensor& per_example) {
  if (per_example.rank() != 1) {
    throw Error(ErrorCode::shape_mismatch, fmt::format("auxiliary loss '{}'", name))
        .at(Context::current().path())
        .got(to_string(per_example.type()))
        .expected("one number an example");
  }
  aux(fmt::format("{}{}", name, kSuffix), per_example, Merge::sum);
}

LossSum add_auxiliary_losses(const LossSum& loss, const Tensor& live_tokens) {
  const Context& here = Context::current();
  const std::string prefix = here.join("");
  Outputs& all = here.collected().aux;
  LossSum out = loss;
  for (auto it = all.begin(); it != all.end();) {
    const auto& [path, output] = *it;
    if (!path.starts_with(prefix) || !is_loss(path, output)) {
      ++it;
      continue;
    }
    if (output.value.dims() != live_tokens.dims()) {
      throw Error(ErrorCode::shape_mismatch, "an auxiliary loss")
          .at(path)
          .got(to_string(output.value.type()))
          .expected(to_string(live_tokens.type()));
    }
    const Tensor sum =
        reduce_sum(convert(output.value, loss.sum.dtype()) * convert(live_tokens, loss.sum.dtype()), {0});
    summarize(std::string_view(path).substr(prefix.size()), sum, loss.weight);
    out.sum = out.sum + sum;
    it = all.erase(it);
  }
  if (out.sum.id() != loss.sum.id()) summarize("token_loss", loss.sum, loss.weight);
  return out;
}

void require_no_auxiliary_loss(const Outputs& aux) {
  for (const auto& [path, output] : aux) {
    if (!is_loss(path, output)) continue;
    throw Error(ErrorCode::unsupported, "an auxiliary loss that the model doesn't add to its loss")
        .at(path)
        .hint("call add_auxiliary_losses in the model's forward");
  }
}

}  // namespace tenon
