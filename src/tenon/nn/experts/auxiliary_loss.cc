#include "tenon/nn/experts/auxiliary_loss.h"

#include <fmt/format.h>

#include "tenon/ir/ops.h"

namespace tenon {
namespace {

constexpr std::string_view kSuffix = "_loss";

// One number an example, behind `stacked` dimensions of layers.
bool is_loss(const std::string& path, const Output& output, int64_t stacked = 0) {
  return path.ends_with(kSuffix) && output.merge == Merge::sum && output.value.rank() == stacked + 1;
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

namespace {

// Takes out the losses that were given below the current module, with summaries of each, and adds them to `total`.
Tensor take_losses(const LossSum& loss, const Tensor& live_tokens, Tensor total) {
  const Context& here = Context::current();
  const std::string prefix = here.join("");
  Outputs& all = here.collected().aux;
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
    total = total + sum;
    it = all.erase(it);
  }
  return total;
}

}  // namespace

LossSum add_auxiliary_losses(const LossSum& loss, const Tensor& live_tokens) {
  const Tensor total = take_losses(loss, live_tokens, loss.sum);
  if (total.id() != loss.sum.id()) summarize("token_loss", loss.sum, loss.weight);
  return {total, loss.weight};
}

void report_auxiliary_losses(const LossSum& with_them, const Tensor& live_tokens) {
  const Tensor none = zeros_like(with_them.sum), more = take_losses(with_them, live_tokens, none);
  if (more.id() != none.id()) summarize("token_loss", with_them.sum - more, with_them.weight);
}

Tensor sum_of_auxiliary_losses(const Outputs& aux, const Tensor& live_tokens) {
  Tensor total;
  for (const auto& [path, output] : aux) {
    if (!is_loss(path, output, 1)) continue;
    const Tensor wide = widen(output.value), sum = sum_all(wide * convert(live_tokens, wide.dtype()));
    total = total ? total + sum : sum;
  }
  return total;
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
