// The op table by family: what docs/ops.md lists.
#pragma once

#include <span>
#include <string_view>

#include "tenon/ir/op_def.h"

namespace tenon {

struct OpFamily {
  std::string_view title;
  std::string_view header;  // of the functions that trace these ops, in tenon/ir/ops
  std::string_view source;  // of the rows
  std::span<const OpDef* const> defs;
};

std::span<const OpFamily> op_families();

}  // namespace tenon
