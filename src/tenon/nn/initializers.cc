#include "tenon/nn/initializers.h"

#include <cmath>

#include "tenon/config/define.h"
#include "tenon/config/number_checks.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/random.h"
#include "tenon/nn/transformer/layers.h"

namespace tenon {

using InitSignature = Tensor(const InitArgs&);
TENON_FN_TYPE(Constant, InitSignature, "one value everywhere")
TENON_FN_TYPE(Normal, InitSignature, "normal with a standard deviation")
TENON_FN_TYPE(FanInNormal, InitSignature, "normal with standard deviation scale / sqrt(fan_in)")
TENON_FN_TYPE(FanInUniform, InitSignature, "uniform between -scale / sqrt(fan_in) and that")

void Normal::check(Checker& c) const { check_not_negative(c, "stddev", stddev); }
void FanInNormal::check(Checker& c) const { check_not_negative(c, "scale", scale); }
void FanInUniform::check(Checker& c) const { check_not_negative(c, "scale", scale); }

Tensor Constant::operator()(const InitArgs& args) const { return full({DType::f32, args.shape}, value); }
Tensor Normal::operator()(const InitArgs& args) const {
  return random_normal(args.key, args.shape, DType::f32) * stddev;
}
Tensor FanInNormal::operator()(const InitArgs& args) const {
  return random_normal(args.key, args.shape, DType::f32) * (scale / std::sqrt(static_cast<double>(args.fan_in)));
}
Tensor FanInUniform::operator()(const InitArgs& args) const {
  const Tensor unit = random_uniform(args.key, args.shape, DType::f32) * 2.0 - 1.0;
  return unit * (scale / std::sqrt(static_cast<double>(args.fan_in)));
}

namespace {

Tensor init_param(const Param& param, const Tensor& key) {
  InitArgs args{fold_in(key, param.name()), param.shape(), 1, 1};
  const Dims& shape = param.shape();
  if (!shape.empty()) args.fan_out = shape.back();
  for (size_t d = 0; d + 1 < shape.size(); ++d) args.fan_in *= shape[d];
  if (shape.size() == 1) args.fan_in = shape[0];
  return param.spec().init ? param.spec().init(args) : FanInNormal{}(args);
}

Nest init_module(const Module& module, const Tensor& key);

// Each layer's values from its own key, in a loop when the arrays are stacked.
Nest init_child(const Module::ChildEntry& child, const Tensor& key) {
  if (child.repeats == 0) {
    const Tensor own = child.indexed ? fold_in(key, static_cast<uint32_t>(child.first)) : fold_in(key, child.name);
    return init_module(*child.module, own);
  }
  const auto body = [&](const Tensor& index, const std::vector<Tensor>&, const std::vector<Tensor>&) {
    const Tensor number = index * static_cast<double>(child.period) + static_cast<double>(child.first);
    return std::pair<std::vector<Tensor>, Nest>({}, init_module(*child.module, fold_in(key, number)));
  };
  return scan(body, std::vector<Tensor>{}, std::vector<Tensor>{}, child.repeats).second;
}

Nest init_module(const Module& module, const Tensor& key) {
  Nest out;
  for (const Param* p : module.params()) out.emplace(p->name(), init_param(*p, key));
  for (const State* s : module.states()) out.emplace(s->name(), full({DType::f32, s->shape()}, s->initial()));
  for (const Module::ChildEntry& child : module.children())
    add_with_prefix(out, child.name + ".", init_child(child, key));
  return out;
}

}  // namespace

Nest init_state(const Module& root, const Tensor& key, const Mesh& mesh) {
  Nest state = init_module(root, key);
  for (const ParamInfo& info : describe_state(root)) {
    Tensor& value = state.at(info.path);
    const Dims padded = mesh.padded_dims(value.dims(), info.partition);
    Dims high;
    for (size_t d = 0; d < padded.size(); ++d) high.push_back(padded[d] - value.dims()[d]);
    value = convert(pad(value, zeros({DType::f32, {}}), Dims(high.size(), 0), high), info.dtype);
  }
  return state;
}

}  // namespace tenon
