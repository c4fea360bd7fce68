// Which conversions make arrays smaller.
#pragma once

#include "tenon/ir/op_def.h"
#include "tenon/ir/trace.h"

namespace tenon {

// Whether `op` converts a float to one of fewer bytes.
inline bool is_narrowing_cast(const Trace& trace, const OpInfo& op) {
  if (op.def->name != "convert") return false;
  const DType from = trace.value(op.operands[0]).type.dtype, to = trace.value(op.results[0]).type.dtype;
  return is_float(from) && is_float(to) && byte_size(to) < byte_size(from);
}

}  // namespace tenon
