// Parameters and states: what a module owns, and what the outside needs to know of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/partition_spec.h"
#include "tenon/config/config.h"
#include "tenon/ir/tensor.h"

namespace tenon {

class Module;

// What an initializer is given. `fan_in` and `fan_out` don't count stack dimensions.
struct InitArgs {
  Tensor key;  // u32[2]
  Dims shape;
  int64_t fan_in = 1, fan_out = 1;
};
// Makes an f32 array of `shape`.
using Initializer = Fn<Tensor(const InitArgs&)>;

struct ParamSpec {
  PartitionSpec partition = {};
  // Empty: FanInNormal.
  Initializer init = {};
  // Multiplies the optimizer's weight decay.
  double decay_scale = 1;
};

// The hint of errors about f16.
inline constexpr const char* kNoFloat16 =
    "use bf16: the range of f16 is too small for gradients without scaling the loss";
// The dtype of an array that is kept between steps: f32 or bf16. Throws `unsupported` for others.
DType kept_dtype(DType dtype, const std::string& path);

// A trained array of a module. Stored in f32, or the param_dtype of its module, padded with zeros to what the mesh
// divides; read in its logical shape.
class Param {
 public:
  // Fans: the last dimension is out, the others multiply to in; one-dimensional arrays have both equal to their size.
  Param(Module* owner, std::string_view name, Dims logical_shape, ParamSpec spec = {});
  // Logical shape, compute dtype. Throws `wrong_context` unless the current context is the owner's, `missing_field`
  // when the state lacks it.
  operator Tensor() const;  // NOLINT: implicit by design
  // Stored dtype.
  Tensor full() const;

  const std::string& name() const { return name_; }
  const Dims& shape() const { return shape_; }
  const ParamSpec& spec() const { return spec_; }

 private:
  const Module* owner_;
  std::string name_;
  Dims shape_;
  ParamSpec spec_;
};

// What a state's next value comes from: the forward pass, or the cotangent that the backward pass gives the state.
enum class StateSource : uint8_t { forward, cotangent };

// An array that isn't trained: batch statistics, amax history, router bias. f32, replicated, `initial` everywhere at
// the start.
class State {
 public:
  State(Module* owner, std::string_view name, Dims shape, StateSource source = StateSource::forward,
        double initial = 0);
  operator Tensor() const;  // NOLINT: implicit by design
  // The value the next step starts from; at most once in a call. Microbatches carry it in order.
  void update(const Tensor& next) const;
  // For statistics of gradients: the value, whose cotangent in this call is what the next step starts from (a
  // custom_vjp gives it). At most once in a call. Who doesn't differentiate keeps the value as it is.
  Tensor update_by_cotangent() const;

  const std::string& name() const { return name_; }
  const Dims& shape() const { return shape_; }
  StateSource source() const { return source_; }
  double initial() const { return initial_; }

 private:
  void collect(const Tensor& next) const;
  const Module* owner_;
  std::string name_;
  Dims shape_;
  StateSource source_;
  double initial_;
};

}  // namespace tenon
