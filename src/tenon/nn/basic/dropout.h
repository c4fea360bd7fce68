// Randomness that keeps a model from relying on any one part.
#pragma once

#include "tenon/nn/module.h"

namespace tenon {

// `x` with a share `rate` of its elements set to 0 and the others divided by 1 - rate, in training; else `x` itself
// (Srivastava et al. 2014). `draw` names the draw within the current module.
Tensor dropout(const Tensor& x, double rate, std::string_view draw);
// The same for whole rows of the first dimension (Huang et al. 2016; "stochastic depth", "drop path").
Tensor drop_rows(const Tensor& x, double rate, std::string_view draw);
// At a rate that is known when the program runs: an f32 scalar, 0 or above and below 1.
Tensor drop_rows(const Tensor& x, const Tensor& rate, std::string_view draw);

// Requires a rate of 0 or above, and below 1.
void check_rate(Checker& c, std::string_view field, double rate);

}  // namespace tenon
