#include "tenon/optim/norm_spikes.h"

#include "tenon/config/checker.h"
#include "tenon/config/number_checks.h"
#include "tenon/ir/ops.h"

namespace tenon {

void NormSpikes::check(Checker& c) const {
  c.at_least("num_deviations", num_deviations, 0);
  c.at_least("min_ratio", min_ratio, 1);
  check_interval(c, "decay", decay, '(', 0, 1, ')');
  c.positive("warmup_steps", warmup_steps);
}

StepScalars NormSpikes::scalars() const { return {{"spike_deviations", num_deviations}, {"spike_ratio", min_ratio}}; }

std::vector<ParamInfo> NormSpikes::describe() {
  std::vector<ParamInfo> out(3);
  out[0].path = "norm_mean";
  out[1].path = "norm_variance";
  out[2].path = "norm_count";
  for (ParamInfo& info : out) info.trainable = false;
  return out;
}

NormSpikes::Test NormSpikes::operator()(const Tensor& norm, const Tensor& finite, const Nest& state,
                                        const Nest& step_scalars) const {
  const Tensor &mean = state.at("norm_mean"), &variance = state.at("norm_variance"), &count = state.at("norm_count");
  const Tensor ready = greater_equal(count, full_like(count, static_cast<double>(warmup_steps)));
  const Tensor limit =
      maximum(mean + step_scalars.at("spike_deviations") * sqrt(variance), mean * step_scalars.at("spike_ratio"));
  Test out;
  out.is_spike = logical_and(logical_and(finite, ready), greater(norm, limit));

  const Tensor counted = select(out.is_spike, limit, norm);
  const Tensor next_count = count + 1.0;
  const Tensor weight = maximum(1.0 / next_count, full_like(count, 1 - decay));
  const Tensor change = counted - mean;
  const auto next = [&](const char* name, const Tensor& value) {
    out.state.emplace(name, select(finite, value, state.at(name)));
  };
  next("norm_mean", mean + weight * change);
  next("norm_variance", (1.0 - weight) * (variance + weight * change * change));
  next("norm_count", next_count);
  return out;
}

}  // namespace tenon
