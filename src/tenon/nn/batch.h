// Arrays of a batch.
#pragma once

#include "tenon/autodiff/tree.h"

namespace tenon {

// The i32 [B,T] array `name` of a batch, of the shape of the array `like`. Throws `missing_field`, `shape_mismatch`.
const Tensor& token_array(const Nest& batch, const char* name, const char* like = "input_ids");

}  // namespace tenon
