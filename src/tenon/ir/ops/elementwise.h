// Elementwise ops. No broadcasting and no promotion between arrays: operands have one type (the operators
// + - * / broadcast by NumPy's rule). C++ numbers take the array's dtype.
#pragma once

#include "tenon/ir/tensor.h"

namespace tenon {

Tensor neg(const Tensor& x);
Tensor abs(const Tensor& x);   // gradient at 0: 0
Tensor sign(const Tensor& x);  // gradient: 0
Tensor exp(const Tensor& x);
Tensor expm1(const Tensor& x);
Tensor log(const Tensor& x);
Tensor log1p(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor rsqrt(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor logistic(const Tensor& x);
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor erf(const Tensor& x);
Tensor floor(const Tensor& x);               // gradient: 0
Tensor ceil(const Tensor& x);                // gradient: 0
Tensor round_nearest_even(const Tensor& x);  // ties to even; gradient: 0
Tensor popcnt(const Tensor& x);              // integers: how many bits are 1
// `x` rounded (to nearest even) to a float format of so many bits, kept in its dtype: what doesn't fit becomes
// infinite, what is below the format's smallest normal number 0. The gradient is rounded alike.
Tensor reduce_precision(const Tensor& x, int64_t exponent_bits, int64_t mantissa_bits);
Tensor logical_not(const Tensor& x);  // bitwise on integers
Tensor is_finite(const Tensor& x);    // -> i1

Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);  // integers: toward zero; x / 0 = -1, as XLA
Tensor rem(const Tensor& a, const Tensor& b);  // sign of the dividend
Tensor pow(const Tensor& a, const Tensor& b);
Tensor atan2(const Tensor& y, const Tensor& x);    // the angle of (x, y), in (-pi, pi]
Tensor maximum(const Tensor& a, const Tensor& b);  // NaN if either is; gradient at ties: half to each
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor logical_and(const Tensor& a, const Tensor& b);  // bitwise on integers
Tensor logical_or(const Tensor& a, const Tensor& b);
Tensor logical_xor(const Tensor& a, const Tensor& b);
Tensor shift_left(const Tensor& a, const Tensor& b);
Tensor shift_right_logical(const Tensor& a, const Tensor& b);
Tensor shift_right_arithmetic(const Tensor& a, const Tensor& b);

// i1 results; NaN compares unequal to everything.
Tensor equal(const Tensor& a, const Tensor& b);
Tensor not_equal(const Tensor& a, const Tensor& b);
Tensor less(const Tensor& a, const Tensor& b);
Tensor less_equal(const Tensor& a, const Tensor& b);
Tensor greater(const Tensor& a, const Tensor& b);
Tensor greater_equal(const Tensor& a, const Tensor& b);

// where `condition` (i1, same shape) then `a` else `b`.
Tensor select(const Tensor& condition, const Tensor& a, const Tensor& b);
// minimum(maximum(x, low), high), NaN kept; one type. The cotangent goes to the operand whose value it is, to `x` at
// the bounds.
Tensor clamp(const Tensor& x, const Tensor& low, const Tensor& high);
Tensor clamp(const Tensor& x, double low, double high);

// Value conversion: floats round to nearest even, float to integer goes toward zero, i1 is x != 0. Same dtype: `x`
// itself.
Tensor convert(const Tensor& x, DType dtype);
// To wide_dtype(x.dtype()).
Tensor widen(const Tensor& x);
// Same bits, another type of the same width.
Tensor bitcast(const Tensor& x, DType dtype);

inline Tensor operator-(const Tensor& x) { return neg(x); }
// Shapes of the two-operand operators broadcast (shape.h, broadcast_to).
Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator+(const Tensor& a, double b);
Tensor operator-(const Tensor& a, double b);
Tensor operator*(const Tensor& a, double b);
Tensor operator/(const Tensor& a, double b);
Tensor operator+(double a, const Tensor& b);
Tensor operator-(double a, const Tensor& b);
Tensor operator*(double a, const Tensor& b);
Tensor operator/(double a, const Tensor& b);

}  // namespace tenon
