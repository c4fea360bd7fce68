#include "tenon/optim/adafactor.h"

#include <algorithm>
#include <numeric>

#include "tenon/config/define.h"
#include "tenon/config/number_checks.h"
#include "tenon/ir/ops.h"

namespace tenon {

TENON_MODULE(Adafactor, Optimizer, "second moments of matrices by their rows and columns",
             {"decay_exponent", "the second moments' decay at update t is 1 - t^-decay_exponent"},
             {"b1", "decay of the first moment; 0: none is kept"}, {"eps", "added to squares of gradients"},
             {"clip_rms", "the largest root mean square of an update before it is scaled"},
             {"min_factored_dim", "smaller matrices have a second moment for each element"},
             {"scale_by_parameter", "whether updates are relative to a parameter's root mean square"},
             {"min_scale", "the least that root mean square counts for"},
             {"weight_decay", "share of a parameter taken off at learning rate 1"})

void Adafactor::Config::check(Checker& c) const {
  check_interval(c, "decay_exponent", decay_exponent, '(', 0, 1, ']');
  check_interval(c, "b1", b1, '[', 0, 1, ')');
  // Below, the product of two roots of it leaves what f32 can hold.
  c.at_least("eps", eps, 1e-30);
  c.positive("clip_rms", clip_rms);
  c.positive("min_factored_dim", min_factored_dim);
  c.positive("min_scale", min_scale);
  c.at_least("weight_decay", weight_decay, 0);
}

namespace {

// Zeros like `x` without dimension `dim`.
Tensor zeros_without(const Tensor& x, int64_t dim) {
  Dims dims = x.dims();
  dims.erase(dims.begin() + dim);
  return zeros({x.dtype(), dims});
}

double size_of(const Dims& shape) {
  return static_cast<double>(std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()));
}

// The root mean square of each layer, with dimensions of size 1 for those of the layer.
Tensor root_mean_square(const ParamInfo& param, const Tensor& x) {
  Dims dims;
  for (int64_t d = stack_rank(param); d < x.rank(); ++d) dims.push_back(d);
  const Tensor square = x * x;
  return sqrt((dims.empty() ? square : sum_keep(square, dims)) / size_of(param.shape));
}

}  // namespace

std::optional<Adafactor::Factors> Adafactor::factors(const ParamInfo& param) const {
  const Dims& shape = param.shape;
  if (shape.size() < 2) return std::nullopt;
  std::vector<int64_t> order(shape.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return shape[static_cast<size_t>(a)] < shape[static_cast<size_t>(b)]; });
  const int64_t largest = order[order.size() - 1], second = order[order.size() - 2];
  if (shape[static_cast<size_t>(second)] < config_.min_factored_dim) return std::nullopt;
  return Factors{largest, second};
}

StepScalars Adafactor::scalars(int64_t) const {
  return {{"weight_decay", config_.weight_decay}, {"clip_rms", config_.clip_rms}};
}

std::vector<ParamInfo> Adafactor::describe(const ParamInfo& param) const {
  std::vector<ParamInfo> out;
  if (const auto f = factors(param)) {
    out.push_back(without_dim(like_parameter(param, "v_row"), f->largest));
    out.push_back(without_dim(like_parameter(param, "v_col"), f->second));
  } else {
    out.push_back(like_parameter(param, "v"));
  }
  if (config_.b1 > 0) out.push_back(like_parameter(param, "m"));
  return out;
}

Nest Adafactor::init(const ParamInfo& param, const Tensor& value) const {
  Nest out;
  if (const auto f = factors(param)) {
    out.emplace("v_row", zeros_without(value, f->largest + stack_rank(param)));
    out.emplace("v_col", zeros_without(value, f->second + stack_rank(param)));
  } else {
    out.emplace("v", zeros_like(value));
  }
  if (config_.b1 > 0) out.emplace("m", zeros_like(value));
  return out;
}

std::pair<Tensor, Nest> Adafactor::scaled_gradient(const OptimizerArgs& args) const {
  const Tensor &g = args.grad, &t = args.num_updates;
  const Tensor fresh = pow(t, full_like(t, -config_.decay_exponent));  // 1 - b2
  const Tensor square = g * g;
  const auto blend = [&](const char* name, const Tensor& x) {
    const Tensor& before = args.state.at(name);
    return before + spread(fresh, x) * (x - before);
  };
  const auto f = factors(args.param);
  if (!f) {
    const Tensor v = blend("v", square);
    return {g * rsqrt(v + config_.eps), Nest{{"v", v}}};
  }
  const int64_t stack = stack_rank(args.param), largest = f->largest + stack, second = f->second + stack;
  const auto size = [&](int64_t dim) { return static_cast<double>(args.param.shape[static_cast<size_t>(dim)]); };
  const Tensor row = blend("v_row", reduce_sum(square, {largest}) / size(f->largest));
  const Tensor col = blend("v_col", reduce_sum(square, {second}) / size(f->second));
  const Tensor rows = expand_dims(row, largest), cols = expand_dims(col, second);
  const Tensor mean = sum_keep(rows, {second}) / size(f->second) + config_.eps;
  return {g * (sqrt(mean) * rsqrt(rows + config_.eps)) * rsqrt(cols + config_.eps),
          Nest{{"v_row", row}, {"v_col", col}}};
}

std::pair<Tensor, Nest> Adafactor::update(const OptimizerArgs& args) const {
  auto [u, state] = scaled_gradient(args);
  const Tensor excess = root_mean_square(args.param, u);
  const Tensor ratio = excess / spread(args.scalars.at("clip_rms"), excess);
  u = u / maximum(ratio, full_like(ratio, 1));
  if (config_.b1 > 0) {
    u = args.state.at("m") * config_.b1 + u * (1 - config_.b1);
    state.emplace("m", u);
  }
  if (config_.scale_by_parameter) {
    const Tensor size = root_mean_square(args.param, args.value);
    u = u * maximum(size, full_like(size, config_.min_scale));
  }
  return {decoupled_step(args, u), std::move(state)};
}

}  // namespace tenon
