#include "tenon/optim/optimizer.h"

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"

namespace tenon {

TENON_INTERFACE(Optimizer, Configurable, "updates a parameter from its gradient")

Tensor spread(const Tensor& scalar, const Tensor& like) { return broadcast_to(scalar, like.dims()); }

Tensor decoupled_step(const OptimizerArgs& args, const Tensor& direction) {
  const Tensor decay = args.scalars.at("weight_decay") * args.param.decay_scale;
  const Tensor change = spread(decay, direction) * args.value + direction;
  return args.value - spread(args.scalars.at("learning_rate"), change) * change;
}

}  // namespace tenon
