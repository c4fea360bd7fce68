// Fits y = a x + b by gradient descent: value_and_grad traces the derivative, jit compiles the step.
#include <cmath>
#include <cstdio>

#include "tenon/autodiff/functional.h"
#include "tenon/ir/ops.h"
#include "tenon/runtime/jit.h"

using tenon::Array, tenon::DType, tenon::Literal, tenon::Nest, tenon::Tensor, tenon::TensorType;

// (a, b, x, y) -> (a, b, loss) after one step.
std::vector<Tensor> step(const std::vector<Tensor>& in) {
  const Tensor &x = in[2], &y = in[3];
  const auto loss = [&](const Nest& p) {
    const Tensor error = p.at("a") * x + p.at("b") - y;
    return std::pair<Tensor, std::vector<Tensor>>(tenon::mean(error * error, {0}), {});
  };
  const auto [value, aux, grads] = tenon::value_and_grad(loss, Nest{{"a", in[0]}, {"b", in[1]}});
  return {in[0] - grads.at("a") * 0.5, in[1] - grads.at("b") * 0.5, value};
}

int main() try {
  const auto backend = tenon::Backend::open("cpu");
  const TensorType scalar{DType::f32, {}}, vector{DType::f32, {64}};
  tenon::ProgramSpec spec;
  spec.num_donated = 2;
  const auto program = tenon::jit(backend, std::vector<TensorType>{scalar, scalar, vector, vector}, step, spec);

  std::vector<double> x, y;
  for (int i = 0; i < 64; ++i) {
    x.push_back(i / 32.0 - 1);
    y.push_back(3 * x.back() - 0.5);
  }
  const auto put = [&](const Literal& value) { return Array::from_literal(backend, {}, {}, value); };
  Array a = put(Literal::scalar(DType::f32, 0)), b = put(Literal::scalar(DType::f32, 0));
  const Array xs = put(Literal::from(DType::f32, {64}, std::span<const double>(x)));
  const Array ys = put(Literal::from(DType::f32, {64}, std::span<const double>(y)));
  double loss = 0;
  for (int i = 0; i < 100; ++i) {
    const auto out = program(std::vector<Array>{a, b, xs, ys});
    a = out[0];
    b = out[1];
    loss = out[2].to_literal().as_double(0);
  }
  const double slope = a.to_literal().as_double(0), offset = b.to_literal().as_double(0);
  std::printf("y = %.4f x + %.4f, loss %.2e\n", slope, offset, loss);
  return std::fabs(slope - 3) < 1e-3 && std::fabs(offset + 0.5) < 1e-3 ? 0 : 1;
} catch (const tenon::Error& e) {
  std::fprintf(stderr, "error: %s\n", e.what());
  return tenon::exit_status(e.code());
}
