#include "tenon/nn/basic/linear.h"

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/initializers.h"

namespace tenon {

TENON_MODULE(Linear, Module, "y = x W + b", {"bias", "whether b is added"},
             {"weight_partition", "mesh axes of input and output dimension"}, {"init", "initializer of W"},
             {"dot", "how x W is computed"})

Linear::Config::Config() : dot(PlainDot::Config{}) {}

void Linear::Config::check(Checker& c) const {
  c.positive("input_dim", input_dim);
  c.positive("output_dim", output_dim);
}

Linear::Linear(const Config& config)
    : Module(config),
      input_dim_(config.input_dim),
      weight_(this, "weight", {config.input_dim, config.output_dim}, {config.weight_partition, config.init, 1}),
      dot_(this, "dot", config.dot, [&](Dot::Config& d) {
        d.input_dim = config.input_dim;
        d.output_dim = config.output_dim;
        d.weight_partition = config.weight_partition;
      }) {
  if (!config.bias) return;
  bias_.emplace(this, "bias", Dims{config.output_dim}, ParamSpec{axis_of(config.weight_partition, 1), Constant{0}, 0});
}

Tensor Linear::forward(const Tensor& x) const {
  if (x.rank() < 1 || x.dim(-1) != input_dim_) {
    throw Error(ErrorCode::shape_mismatch, "the last dimension of the input isn't input_dim")
        .at(Context::current().path())
        .got(to_string(x.type()))
        .expected("[..., " + std::to_string(input_dim_) + "]");
  }
  const Tensor y = dot_(x, weight_);
  return bias_ ? y + Tensor(*bias_) : y;
}

}  // namespace tenon
