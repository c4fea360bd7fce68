#include "tenon/autodiff/testing/check_gradients.h"

#include <fmt/format.h>

#include <cmath>

#include "tenon/autodiff/functional.h"
#include "tenon/ir/interpreter.h"
#include "tenon/ir/op_def.h"

namespace tenon {
namespace {

std::vector<TensorType> types_of(const std::vector<Literal>& args) {
  std::vector<TensorType> out;
  for (const Literal& a : args) out.push_back(a.type());
  return out;
}

}  // namespace

Literal random_literal(std::mt19937& rng, const Dims& dims) {
  std::normal_distribution<double> normal;
  std::vector<double> values(static_cast<size_t>(num_elements(dims)));
  for (double& v : values) v = normal(rng);
  return Literal::from(DType::f64, dims, std::span<const double>(values));
}

Graph gradient_graph(const LossFn& loss, const std::vector<Literal>& args) {
  return make_graph(types_of(args), [&](const std::vector<Tensor>& p) {
    const auto both = value_and_grad(
        [&](const std::vector<Tensor>& q) { return std::pair<Tensor, std::vector<Tensor>>(loss(q), {}); }, p);
    std::vector<Tensor> out{both.value};
    for (const Tensor& g : both.grads) {
      if (g) out.push_back(g);
    }
    return out;
  });
}

std::string check_gradients(const LossFn& loss, std::vector<Literal> args) {
  const Graph f =
      make_graph(types_of(args), [&](const std::vector<Tensor>& p) { return std::vector<Tensor>{loss(p)}; });
  const auto value = [&] { return interpret(f, args)[0].as_double(0); };
  const std::vector<Literal> got = interpret(gradient_graph(loss, args), args);
  if (got[0].as_double(0) != value()) return fmt::format("the loss is {}, not {}", got[0].as_double(0), value());
  const double h = 1e-5;
  size_t next = 1;
  for (size_t a = 0; a < args.size(); ++a) {
    if (!is_float(args[a].dtype())) continue;
    const Literal& gradient = got.at(next++);
    for (int64_t i = 0; i < args[a].size(); ++i) {
      const double x = args[a].as_double(i);
      args[a].set(i, x + h);
      const double up = value();
      args[a].set(i, x - h);
      const double down = value();
      args[a].set(i, x);
      const double want = (up - down) / (2 * h), have = gradient.as_double(i);
      if (std::fabs(have - want) <= 1e-6 * std::max(1.0, std::fabs(want))) continue;  // a NaN doesn't pass
      return fmt::format("argument {} element {}: {} instead of {}", a, i, have, want);
    }
  }
  return "";
}

int64_t count_ops(const Trace& trace, RegionId region, std::string_view name) {
  int64_t count = 0;
  for (OpId id : trace.region(region).ops) {
    const OpInfo& op = trace.op(id);
    count += op.def->name == name;
    for (RegionId inner : op.regions) count += count_ops(trace, inner, name);
  }
  return count;
}

}  // namespace tenon
