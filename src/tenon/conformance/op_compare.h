// Whether a backend's results are those of the reference interpreter.
#pragma once

#include <string>
#include <string_view>

#include "tenon/base/literal.h"

namespace tenon {

// "" when `got`, what the op called `op` gave, agrees with `want`: integers and most floats to the bit; floats of ops
// that approximate, or sum in an order of their own, to the precision of their dtype. Else what differs first.
std::string compare_results(std::string_view op, const Literal& got, const Literal& want);

}  // namespace tenon
