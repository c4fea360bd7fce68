#include "tenon/nn/residual.h"

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"

namespace tenon {

TENON_INTERFACE(Residual, Module, "how a branch joins the residual stream")
TENON_MODULE(PreNormResidual, Residual, "x + branch(norm(x))")

PreNormResidual::Config::Config() : norm(RMSNorm::Config{}) {}

PreNormResidual::PreNormResidual(const Config& config)
    : Residual(config), norm_(this, "norm", config.norm, [&](Norm::Config& n) { n.input_dim = config.input_dim; }) {}

Tensor PreNormResidual::prepare(const Tensor& x) const { return norm_(x); }
Tensor PreNormResidual::merge(const Tensor& x, const Tensor& branch) const { return x + branch; }

}  // namespace tenon
