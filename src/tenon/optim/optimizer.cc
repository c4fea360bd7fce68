#include "tenon/optim/optimizer.h"

#include "tenon/config/define.h"
#include "tenon/ir/ops.h"

namespace tenon {

TENON_INTERFACE(Optimizer, Configurable, "updates a parameter from its gradient")

ParamInfo like_parameter(const ParamInfo& param, std::string name) {
  ParamInfo out = param;
  out.path = std::move(name);
  out.init = {};
  out.trainable = false;
  out.dtype = DType::f32;
  return out;
}

ParamInfo without_dim(ParamInfo info, int64_t dim) {
  info.shape.erase(info.shape.begin() + dim);
  std::vector<Axis> axes = info.partition.dims();
  const int64_t at = dim + stack_rank(info);
  if (at < static_cast<int64_t>(axes.size())) axes.erase(axes.begin() + at);
  info.partition = PartitionSpec(std::move(axes));
  return info;
}

int64_t stack_rank(const ParamInfo& param) { return param.stack > 0 ? 1 : 0; }

Tensor spread(const Tensor& scalar, const Tensor& like) { return broadcast_to(scalar, like.dims()); }

Tensor keep_unless(const Tensor& applied, const Tensor& next, const Tensor& before) {
  return select(spread(applied, next), next, before);
}

Tensor decoupled_step(const OptimizerArgs& args, const Tensor& direction) {
  const Tensor decay = args.scalars.at("weight_decay") * args.param.decay_scale;
  const Tensor change = spread(decay, direction) * args.value + direction;
  return args.value - spread(args.scalars.at("learning_rate"), change) * change;
}

}  // namespace tenon
