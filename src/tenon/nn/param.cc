#include "tenon/nn/param.h"

#include <fmt/format.h>

#include "tenon/ir/ops.h"
#include "tenon/nn/module.h"

namespace tenon {
namespace {

Context& owner_context(const Module* owner, const std::string& name) {
  Context& here = Context::current();
  if (&here.module() != owner) {
    throw Error(ErrorCode::wrong_context, fmt::format("'{}' belongs to another module", name))
        .at(here.path())
        .hint("a module reads its own parameters and states only; ask the owner through a method");
  }
  return here;
}

void check_stored(const Tensor& stored, const Dims& shape, const std::string& path) {
  bool fits = stored.rank() == static_cast<int64_t>(shape.size());
  for (size_t d = 0; fits && d < shape.size(); ++d) fits = stored.dims()[d] >= shape[d];
  if (!fits) {
    throw Error(ErrorCode::shape_mismatch, "the state holds an array of another shape")
        .at(path)
        .got(to_string(stored.type()))
        .expected(to_string(shape));
  }
}

}  // namespace

DType kept_dtype(DType dtype, const std::string& path) {
  if (dtype == DType::f32 || dtype == DType::bf16) return dtype;
  throw Error(ErrorCode::unsupported, "what is kept between steps can't have this dtype")
      .at(path)
      .got(std::string(to_string(dtype)))
      .expected("f32 or bf16")
      .hint(dtype == DType::f16 ? kNoFloat16 : "choose one of these");
}

Param::Param(Module* owner, std::string_view name, Dims logical_shape, ParamSpec spec)
    : owner_(owner), name_(name), shape_(std::move(logical_shape)), spec_(std::move(spec)) {
  owner->check_new_name(name);
  if (spec_.partition.dims().size() > shape_.size()) {
    throw Error(ErrorCode::mesh_mismatch, "the partition has more entries than the parameter has dimensions")
        .at(name_)
        .got(fmt::format("{} of shape {}", to_string(spec_.partition), to_string(shape_)))
        .expected(fmt::format("at most {}", shape_.size()));
  }
  for (int64_t d : shape_) {
    if (d < 1)
      throw Error(ErrorCode::invalid_argument, fmt::format("a parameter of shape {}", to_string(shape_))).at(name_);
  }
  owner->params_.push_back(this);
}

Tensor Param::full() const {
  const Context& here = owner_context(owner_, name_);
  const Tensor stored = here.state(name_);
  check_stored(stored, shape_, here.join(name_));
  return slice(shard(stored, spec_.partition), Dims(shape_.size(), 0), shape_);
}

// Cast on the shard, before any gather.
Param::operator Tensor() const {
  const Context& here = owner_context(owner_, name_);
  const Tensor stored = here.state(name_);
  check_stored(stored, shape_, here.join(name_));
  return slice(shard(convert(stored, here.compute_dtype()), spec_.partition), Dims(shape_.size(), 0), shape_);
}

State::State(Module* owner, std::string_view name, Dims shape, StateSource source, double initial)
    : owner_(owner), name_(name), shape_(std::move(shape)), source_(source), initial_(initial) {
  owner->check_new_name(name);
  owner->states_.push_back(this);
}

State::operator Tensor() const {
  const Context& here = owner_context(owner_, name_);
  const Tensor stored = here.state(name_);
  check_stored(stored, shape_, here.join(name_));
  return stored;
}

void State::update(const Tensor& next) const {
  if (source_ != StateSource::forward) {
    throw Error(ErrorCode::wrong_context, "the state's next value is its cotangent").at(Context::current().join(name_));
  }
  collect(next);
}

Tensor State::update_by_cotangent() const {
  if (source_ != StateSource::cotangent) {
    throw Error(ErrorCode::wrong_context, "the state's next value comes from the forward pass")
        .at(Context::current().join(name_));
  }
  const Tensor value = *this;
  collect(value);
  return value;
}

void State::collect(const Tensor& next) const {
  Context& here = owner_context(owner_, name_);
  const TensorType want{DType::f32, shape_};
  if (next.type() != want) {
    throw Error(ErrorCode::shape_mismatch, "an update of a state")
        .at(here.join(name_))
        .got(to_string(next.type()))
        .expected(to_string(want));
  }
  here.check_collecting(name_);
  if (!here.collected().state_updates.try_emplace(here.join(name_), stop_gradient(next)).second) {
    throw Error(ErrorCode::wrong_context, "a state was updated twice in one call").at(here.join(name_));
  }
}

}  // namespace tenon
