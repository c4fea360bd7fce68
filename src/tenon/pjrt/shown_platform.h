// Private to this folder: which platform a plugin is for, before it is initialized.
#pragma once

#include <string>
#include <string_view>

#include "tenon/base/result.h"
#include "tenon/pjrt/c_api.h"

namespace tenon::pjrt {

// "tpu", "cuda" or "rocm", by extensions and attributes that only these have, a GPU's plugin that says nothing of CUDA
// being AMD's; "" where nothing tells. Only of a table of functions whose version was checked.
std::string shown_platform(const PJRT_Api* api);

// That a plugin isn't another platform's than `wanted`, as far as that shows: one that is waits for hardware that isn't
// there, or fails in words that name neither. Errors: `plugin`.
Status check_platform(std::string_view shown, std::string_view wanted, const std::string& path);

}  // namespace tenon::pjrt
