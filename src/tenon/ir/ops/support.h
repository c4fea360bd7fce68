// Small things the op files share.
#pragma once

#include <fmt/format.h>

#include <vector>

#include "tenon/base/literal.h"
#include "tenon/ir/hlo_writer.h"
#include "tenon/ir/op_def.h"

namespace tenon {

// Emits an op with one result.
inline Tensor emit1(const OpDef& def, std::vector<Tensor> operands, Attrs attrs = {}) {
  Trace& trace = !operands.empty() && operands[0] ? *operands[0].trace() : current_trace();
  return trace.emit(def, std::move(operands), std::move(attrs))[0];
}

// A `shape_mismatch` at the module path of the current trace.
[[noreturn]] void throw_shape_error(std::string message);

template <class... A>
[[noreturn]] void shape_error(fmt::format_string<A...> text, A&&... args) {
  throw_shape_error(fmt::format(text, std::forward<A>(args)...));
}

// Throws unless all operands have one type; returns it.
inline const TensorType& same_types(const InferArgs& a) {
  for (const TensorType& t : a.operands) {
    if (t != a.operands[0]) {
      shape_error("operands differ: {} and {}; there is no implicit promotion or broadcasting",
                  to_string(a.operands[0]), to_string(t));
    }
  }
  return a.operands[0];
}

// Row-major walk over `dims`: calls f(index) for each element in order.
template <class F>
void for_each_index(const Dims& dims, F f) {
  const int64_t n = num_elements(dims);
  Dims index(dims.size(), 0);
  for (int64_t i = 0; i < n; ++i) {
    f(index);
    for (size_t d = dims.size(); d-- > 0;) {
      if (++index[d] < dims[d]) break;
      index[d] = 0;
    }
  }
}

inline int64_t flat_index(const Dims& index, const Dims& strides) {
  int64_t out = 0;
  for (size_t d = 0; d < index.size(); ++d) out += index[d] * strides[d];
  return out;
}

// Copies element `from` of `a` to element `to` of `out`; the dtypes are equal.
void copy_element(Literal& out, int64_t to, const Literal& a, int64_t from);

// Puts negative dimensions in range; throws on repeats and out of range.
Dims normalize_dims(Dims dims, int64_t rank);

// "stablehlo.name %a, %b : type" for ops whose operands and result have one type.
void print_same(HloWriter& w, const OpInfo& op, std::string_view hlo_name);

// FLOPs of ops that only move or make values.
inline double no_flops(const Trace&, const OpInfo&) { return 0; }

// The dtype sums of this dtype are done in.
inline DType accumulator(DType d) { return is_float(d) && d != DType::f64 ? DType::f32 : d; }

}  // namespace tenon
