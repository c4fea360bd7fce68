#include "tenon/optim/muon.h"

#include <algorithm>
#include <cmath>

#include "tenon/config/define.h"
#include "tenon/config/number_checks.h"
#include "tenon/ir/ops.h"
#include "tenon/optim/matrices.h"

namespace tenon {

TENON_MODULE(Muon, Optimizer, "momentum whose update is made orthogonal, for matrices",
             {"momentum", "decay of the gradient's running mean"},
             {"nesterov", "whether the gradient is mixed in once more"},
             {"weight_decay", "share of a parameter taken off at learning rate 1"},
             {"num_iterations", "of the Newton-Schulz iteration that makes an update orthogonal"},
             {"iteration_dtype", "of that iteration's products"})

void Muon::Config::check(Checker& c) const {
  check_interval(c, "momentum", momentum, '[', 0, 1, ')');
  c.at_least("weight_decay", weight_decay, 0);
  c.positive("num_iterations", num_iterations);
  c.require(iteration_dtype == DType::f32 || iteration_dtype == DType::bf16, "iteration_dtype", "must be f32 or bf16");
}

namespace {

constexpr double kEps = 1e-7;

Tensor swap_last(const Tensor& x) {
  Dims order(static_cast<size_t>(x.rank()));
  for (size_t d = 0; d < order.size(); ++d) order[d] = static_cast<int64_t>(d);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return transpose(x, order);
}

}  // namespace

Tensor orthogonalize(const Tensor& x, int64_t num_iterations, DType iteration_dtype) {
  const int64_t rows = x.dim(-2), columns = x.dim(-1);
  const Tensor wide = rows > columns ? swap_last(x) : x;
  const Tensor norm = frobenius_norm_keep(wide, kEps);
  Tensor y = convert(wide / broadcast_to(norm, wide.dims()), iteration_dtype);
  for (int64_t i = 0; i < num_iterations; ++i) {
    const Tensor outer = times_transposed(y, y);
    y = y * 3.4445 + matmul(outer * -4.7750 + matmul(outer, outer) * 2.0315, y);
  }
  const Tensor out = convert(y, DType::f32);
  return rows > columns ? swap_last(out) : out;
}

StepScalars Muon::scalars(int64_t) const { return {{"weight_decay", config_.weight_decay}}; }

std::vector<ParamInfo> Muon::describe(const ParamInfo& param) const {
  if (param.shape.size() != 2) {
    throw Error(ErrorCode::shape_mismatch, "Muon works on matrices alone")
        .at(param.path)
        .got(to_string(TensorType{DType::f32, param.shape}))
        .expected("two dimensions")
        .hint("give this parameter to another optimizer through OptimizerByPath");
  }
  return {like_parameter(param, "momentum")};
}

Nest Muon::init(const ParamInfo&, const Tensor& value) const { return {{"momentum", zeros_like(value)}}; }

std::pair<Tensor, Nest> Muon::update(const OptimizerArgs& args) const {
  const double beta = config_.momentum;
  const Tensor& g = args.grad;
  const Tensor m = args.state.at("momentum") * beta + g * (1 - beta);
  const Tensor u = config_.nesterov ? g * (1 - beta) + m * beta : m;
  const double size = static_cast<double>(std::max(args.param.shape[0], args.param.shape[1]));
  const Tensor direction = orthogonalize(u, config_.num_iterations, config_.iteration_dtype) * (0.2 * std::sqrt(size));
  return {decoupled_step(args, direction), Nest{{"momentum", m}}};
}

}  // namespace tenon
