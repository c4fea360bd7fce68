#include "tenon/optim/shampoo.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tenon/config/define.h"
#include "tenon/config/number_checks.h"
#include "tenon/ir/mesh_scope.h"
#include "tenon/ir/ops.h"
#include "tenon/optim/adamw.h"
#include "tenon/optim/inverse_root.h"
#include "tenon/optim/matrices.h"

namespace tenon {

TENON_MODULE(Shampoo, Optimizer, "gradients of matrices scaled by roots of their statistics",
             {"b1", "decay of the first moment"}, {"b2", "decay of the second moment and of the statistics"},
             {"eps", "added to the root of the second moment"},
             {"weight_decay", "share of a parameter taken off at learning rate 1"},
             {"ridge", "added to statistics, relative to their norm, before a root is taken"},
             {"root_every", "updates between roots"}, {"max_dim", "the longest side that is scaled"})

void Shampoo::Config::check(Checker& c) const {
  check_interval(c, "b1", b1, '[', 0, 1, ')');
  check_interval(c, "b2", b2, '[', 0, 1, ')');
  c.positive("eps", eps);
  c.at_least("weight_decay", weight_decay, 0);
  // Below, f32 can't tell the smallest eigenvalues from its own rounding.
  check_interval(c, "ridge", ridge, '[', 1e-7, 1, ')');
  c.positive("root_every", root_every);
  c.positive("max_dim", max_dim);
}

namespace {

constexpr double kLeastNorm = 1e-30;

struct Side {
  const char *statistics, *root;
};
constexpr std::array<Side, 2> kSides{{{"left", "left_root"}, {"right", "right_root"}}};

// The parameter's axes along a dimension, of its stack or (behind) of its shape.
Axis axis_at(const ParamInfo& param, size_t dim) {
  const std::vector<Axis>& axes = param.partition.dims();
  return dim < axes.size() ? axes[dim] : Axis();
}

// Of an array [M, M] of one side, with its rows split by what splits the side and, within that, `others` of the axes.
PartitionSpec by_rows(const ParamInfo& param, size_t side, const Axis& others = {}) {
  const auto stack = static_cast<size_t>(stack_rank(param));
  Axis rows = axis_at(param, stack + side);
  rows.names.insert(rows.names.end(), others.names.begin(), others.names.end());
  std::vector<Axis> out;
  if (stack > 0) out.push_back(axis_at(param, 0));
  out.push_back(std::move(rows));
  return PartitionSpec(std::move(out));
}

// An array [M, M] of one side, its rows split by all axes that split the parameter.
ParamInfo square_array(const ParamInfo& param, size_t side, const char* name) {
  ParamInfo out = like_parameter(param, name);
  out.shape = {param.shape[side], param.shape[side]};
  out.partition = by_rows(param, side, axis_at(param, static_cast<size_t>(stack_rank(param)) + 1 - side));
  return out;
}

bool is_padded(const Tensor& x, const Dims& shape) {
  return !std::equal(shape.begin(), shape.end(), x.dims().end() - static_cast<std::ptrdiff_t>(shape.size()));
}

// The matrices of `shape` in padded ones, and back.
Tensor crop(const Tensor& x, const Dims& shape) {
  Dims limit = x.dims();
  std::copy(shape.begin(), shape.end(), limit.end() - 2);
  return slice(x, Dims(limit.size(), 0), limit);
}

Tensor padded_to(const Tensor& x, const Dims& dims) {
  Dims high = dims;
  for (size_t d = 0; d < high.size(); ++d) high[d] -= x.dims()[d];
  return pad(x, zeros({x.dtype(), {}}), Dims(high.size(), 0), high);
}

// g g^T for side 0, g^T g for side 1.
Tensor statistics_of(const Tensor& g, size_t side) {
  return side == 0 ? times_transposed(g, g, DotPrecision::full) : transposed_times(g, g, DotPrecision::full);
}

// root u for side 0, u root for side 1; either way the root's rows, which are split, become u's dimension.
Tensor scaled(const Tensor& u, const Tensor& root, size_t side) {
  return side == 0 ? matmul(root, u, DotPrecision::full) : times_transposed(u, root, DotPrecision::full);
}

// `u` with the size of `like`, each matrix by itself.
Tensor with_norm_of(const Tensor& like, const Tensor& u) {
  const Tensor ratio = frobenius_norm_keep(like) / frobenius_norm_keep(u, kLeastNorm);
  return u * broadcast_to(ratio, u.dims());
}

}  // namespace

bool Shampoo::scales(const ParamInfo& param, size_t side) const { return param.shape[side] <= config_.max_dim; }

StepScalars Shampoo::scalars(int64_t) const { return {{"weight_decay", config_.weight_decay}}; }

std::vector<ParamInfo> Shampoo::describe(const ParamInfo& param) const {
  const auto refuse = [&](const char* what) {
    return Error(ErrorCode::shape_mismatch, what)
        .at(param.path)
        .got(to_string(TensorType{DType::f32, param.shape}))
        .hint("give this parameter to another optimizer through OptimizerByPath");
  };
  if (param.shape.size() != 2) throw refuse("Shampoo works on matrices alone").expected("two dimensions");
  std::vector<ParamInfo> out{like_parameter(param, "m"), like_parameter(param, "v")};
  for (size_t side = 0; side < kSides.size(); ++side) {
    if (!scales(param, side)) continue;
    out.push_back(square_array(param, side, kSides[side].statistics));
    out.push_back(square_array(param, side, kSides[side].root));
  }
  if (out.size() == 2) {
    throw refuse("Shampoo would scale neither side")
        .expected(fmt::format("a side of at most max_dim, {}", config_.max_dim));
  }
  return out;
}

Nest Shampoo::init(const ParamInfo& param, const Tensor& value) const {
  Nest out{{"m", zeros_like(value)}, {"v", zeros_like(value)}};
  for (size_t side = 0; side < kSides.size(); ++side) {
    if (!scales(param, side)) continue;
    const ParamInfo info = square_array(param, side, kSides[side].root);
    const Dims logical = info.logical_shape(), dims = program_mesh().padded_dims(logical, info.partition);
    out.emplace(kSides[side].statistics, zeros({value.dtype(), dims}));
    out.emplace(kSides[side].root, padded_to(identity_matrices({value.dtype(), logical}), dims));
  }
  return out;
}

std::pair<Tensor, Nest> Shampoo::update(const OptimizerArgs& args) const {
  const Dims& shape = args.param.shape;
  const AdamStep adam = adam_step(args, config_.b1, config_.b2, config_.eps);
  Nest state{{"m", adam.m}, {"v", adam.v}};
  const Tensor since_first = args.num_updates - 1.0;
  const Tensor due =
      equal(rem(since_first, full_like(since_first, static_cast<double>(config_.root_every))), zeros_like(since_first));
  const int64_t power = scales(args.param, 0) && scales(args.param, 1) ? 4 : 2;
  const Tensor g = crop(args.grad, shape);
  Tensor u = crop(adam.m, shape);
  for (size_t side = 0; side < kSides.size(); ++side) {
    if (!scales(args.param, side)) continue;
    const Tensor &before = args.state.at(kSides[side].statistics), &root_before = args.state.at(kSides[side].root);
    const ParamInfo info = square_array(args.param, side, kSides[side].root);
    // Where nothing is padded: a root is made split as it is kept, and scales with its rows split as the side is.
    const bool whole = !is_padded(before, info.shape) && !is_padded(args.value, shape);
    const auto placed = [&](const Tensor& x) { return whole ? shard(x, info.partition) : x; };
    const Tensor fresh = statistics_of(g, side);
    const Tensor statistics = placed(crop(before, info.shape) * config_.b2 + fresh * (1 - config_.b2));
    const Tensor root = cond(
        due, [&] { return std::vector{placed(inverse_root(statistics, power, config_.ridge))}; },
        [&] { return std::vector{placed(crop(root_before, info.shape))}; })[0];
    u = scaled(u, whole ? shard(root, by_rows(args.param, side)) : root, side);
    state.emplace(kSides[side].statistics, padded_to(statistics, before.dims()));
    state.emplace(kSides[side].root, padded_to(root, root_before.dims()));
  }
  const Tensor direction = padded_to(with_norm_of(crop(adam.direction, shape), u), args.value.dims());
  return {decoupled_step(args, direction), std::move(state)};
}

}  // namespace tenon
