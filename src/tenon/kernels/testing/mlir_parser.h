// Reads MLIR's generic form, as far as our kernels use it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tenon/kernels/block_builder.h"

namespace tenon {

struct MlirOp;
struct MlirRegion {
  std::vector<std::string> parameters;
  std::vector<BlockType> types;  // of the parameters
  std::vector<MlirOp> ops;
};
struct MlirOp {
  std::string name;
  std::vector<std::string> operands, results;
  std::string attributes;
  std::vector<MlirRegion> regions;
  std::vector<BlockType> result_types;

  // What stands after "name = "; throws `invalid_argument` where there is none.
  std::string attribute(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  // The numbers of "array<i64: 1, 2>".
  Dims numbers(std::string_view name) const;
};

// The ops of a module. Throws `invalid_argument` with the place.
std::vector<MlirOp> parse_mlir(std::string_view text);
// Numbers in a text, in order.
Dims numbers_in(std::string_view text);

}  // namespace tenon
