// The rows of each op family; op_table.cc joins them.
#pragma once

#include <span>

#include "tenon/ir/op_def.h"

namespace tenon {

std::span<const OpDef* const> unary_defs();
std::span<const OpDef* const> binary_defs();
std::span<const OpDef* const> compare_defs();  // compare, select, clamp, convert, bitcast
std::span<const OpDef* const> reduce_precision_defs();
std::span<const OpDef* const> constant_defs();  // constant, iota
std::span<const OpDef* const> shape_defs();     // broadcast, reshape, transpose, slice, pad, concatenate, reverse
std::span<const OpDef* const> dynamic_defs();   // dynamic_slice, dynamic_update_slice
std::span<const OpDef* const> gather_defs();    // gather, scatter_…
std::span<const OpDef* const> dot_defs();
std::span<const OpDef* const> reduce_defs();
std::span<const OpDef* const> convolution_defs();
std::span<const OpDef* const> reduce_window_defs();
std::span<const OpDef* const> sort_defs();  // sort, top_k
std::span<const OpDef* const> annotate_defs();
std::span<const OpDef* const> control_defs();  // scan, while, cond
std::span<const OpDef* const> custom_vjp_defs();
std::span<const OpDef* const> manual_defs();
std::span<const OpDef* const> collective_defs();
std::span<const OpDef* const> attention_defs();  // attention, attention_backward

}  // namespace tenon
