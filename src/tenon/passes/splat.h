// Arrays whose elements are all one scalar, which programs hold as broadcasts.
#pragma once

#include "tenon/ir/op_def.h"

namespace tenon {

// The scalar that is in every element of `x`: `x` itself if it is one, or what it is a broadcast of. Else empty.
Tensor splat_scalar(const Tensor& x);
// The constant in every element of `x`, of one element; null when it isn't one or not known.
const Literal* splat_constant(const Tensor& x);
// Element i of the result comes from elements i of the operands, whatever the shape.
bool is_elementwise(const OpDef& def);
// Operand `i` of an op.
inline Tensor operand(Trace& trace, const OpInfo& op, size_t i) { return trace.tensor(op.operands[i]); }
// The op that makes `x` when it is called `name`, else null.
const OpInfo* maker(const Tensor& x, std::string_view name);

}  // namespace tenon
