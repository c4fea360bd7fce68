// Private to this folder: options in the C API's form.
#pragma once

#include <vector>

#include "tenon/pjrt/c_api.h"
#include "tenon/pjrt/plugin.h"

namespace tenon::pjrt {

// Points into `options`, which must outlive the result.
std::vector<PJRT_NamedValue> to_named_values(const Options& options);

}  // namespace tenon::pjrt
