#include "tenon/ir/ops/support.h"

#include <algorithm>
#include <cstring>

namespace tenon {

void throw_shape_error(std::string message) {
  Error e(ErrorCode::shape_mismatch, std::move(message));
  if (tracing()) e.at(std::string(current_trace().path()));
  throw e;
}

void copy_element(Literal& out, int64_t to, const Literal& a, int64_t from) {
  const size_t width = byte_size(a.dtype());
  std::memcpy(out.bytes().data() + static_cast<size_t>(to) * width,
              a.bytes().data() + static_cast<size_t>(from) * width, width);
}

Dims normalize_dims(Dims dims, int64_t rank) {
  for (int64_t& d : dims) {
    if (d < -rank || d >= rank) shape_error("dimension {} of an array of rank {}", d, rank);
    if (d < 0) d += rank;
  }
  std::sort(dims.begin(), dims.end());
  if (std::adjacent_find(dims.begin(), dims.end()) != dims.end()) shape_error("dimensions {} repeat", to_string(dims));
  return dims;
}

void print_same(HloWriter& w, const OpInfo& op, std::string_view hlo_name) {
  w.define(op, fmt::format("stablehlo.{} {} : {}", hlo_name, w.names(op.operands), w.type_text(op.results[0])));
}

}  // namespace tenon
