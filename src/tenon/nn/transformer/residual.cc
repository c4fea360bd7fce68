#include "tenon/nn/transformer/residual.h"

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/basic/dropout.h"
#include "tenon/nn/fill.h"
#include "tenon/nn/transformer/layers.h"

namespace tenon {

TENON_INTERFACE(Residual, Module, "how a branch joins the residual stream")
TENON_MODULE(PreNormResidual, Residual, "x + branch(norm(x))")
TENON_MODULE(PostNormResidual, Residual, "norm(x + branch(x))")
TENON_MODULE(HybridNormResidual, Residual, "x + post_norm(branch(norm(x)))")
TENON_MODULE(DropoutResidual, Residual, "drops elements of the branch in training", {"rate", "share that is dropped"},
             {"residual", "how the branch joins"})
TENON_MODULE(StochasticDepthResidual, Residual, "drops the branch of whole rows in training",
             {"rate", "share that is dropped"},
             {"schedule", "constant: all layers alike; linear: layer l of L at l / L times the rate"},
             {"residual", "how the branch joins"})

PreNormResidual::Config::Config() : norm(RMSNorm::Config{}) {}

PreNormResidual::PreNormResidual(const Config& config)
    : Residual(config), norm_(this, "norm", config.norm, of_dim(config.input_dim)) {}

Tensor PreNormResidual::prepare(const Tensor& x) const { return norm_(x); }
Tensor PreNormResidual::merge(const Tensor& x, const Tensor& branch) const { return x + branch; }

PostNormResidual::Config::Config() : norm(RMSNorm::Config{}) {}

PostNormResidual::PostNormResidual(const Config& config)
    : Residual(config), norm_(this, "norm", config.norm, of_dim(config.input_dim)) {}

Tensor PostNormResidual::prepare(const Tensor& x) const { return x; }
Tensor PostNormResidual::merge(const Tensor& x, const Tensor& branch) const { return norm_(x + branch); }

HybridNormResidual::Config::Config() : norm(RMSNorm::Config{}), post_norm(RMSNorm::Config{}) {}

HybridNormResidual::HybridNormResidual(const Config& config)
    : Residual(config),
      norm_(this, "norm", config.norm, of_dim(config.input_dim)),
      post_norm_(this, "post_norm", config.post_norm, of_dim(config.input_dim)) {}

Tensor HybridNormResidual::prepare(const Tensor& x) const { return norm_(x); }
Tensor HybridNormResidual::merge(const Tensor& x, const Tensor& branch) const { return x + post_norm_(branch); }

DropoutResidual::Config::Config() : residual(PreNormResidual::Config{}) {}
void DropoutResidual::Config::check(Checker& c) const { check_rate(c, "rate", rate); }

DropoutResidual::DropoutResidual(const Config& config)
    : Residual(config), rate_(config.rate), residual_(this, "residual", config.residual, of_dim(config.input_dim)) {}

Tensor DropoutResidual::prepare(const Tensor& x) const { return residual_.call(&Residual::prepare, x); }
Tensor DropoutResidual::merge(const Tensor& x, const Tensor& branch) const {
  return residual_.call(&Residual::merge, x, dropout(branch, rate_, "branch"));
}

StochasticDepthResidual::Config::Config() : residual(PreNormResidual::Config{}) {}
void StochasticDepthResidual::Config::check(Checker& c) const { check_rate(c, "rate", rate); }

StochasticDepthResidual::StochasticDepthResidual(const Config& config)
    : Residual(config),
      rate_(config.rate),
      schedule_(config.schedule),
      residual_(this, "residual", config.residual, of_dim(config.input_dim)) {}

Tensor StochasticDepthResidual::prepare(const Tensor& x) const { return residual_.call(&Residual::prepare, x); }
Tensor StochasticDepthResidual::merge(const Tensor& x, const Tensor& branch) const {
  if (schedule_ == DepthSchedule::constant) {
    return residual_.call(&Residual::merge, x, drop_rows(branch, rate_, "branch"));
  }
  const LayerPlace layer = layer_place();
  const Tensor rate = convert(layer.number + 1.0, DType::f32) * (rate_ / static_cast<double>(layer.num_layers));
  return residual_.call(&Residual::merge, x, drop_rows(branch, rate, "branch"));
}

}  // namespace tenon
