// What one task of a product computes.
#pragma once

#include <cstddef>

namespace tenon {

// Part of C: rows [row, row + rows) and columns [column, column + columns).
struct MatmulPart {
  size_t row, rows, column, columns;
};

}  // namespace tenon
