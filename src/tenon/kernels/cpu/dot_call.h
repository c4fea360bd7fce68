// Products of matrices in programs and behind the FFI.
#pragma once

#include <map>
#include <string>

#include "tenon/passes/select_kernels.h"

namespace tenon {

KernelList dot_kernels();
// XLA_FFI_Handler* by the target names of the calls.
std::map<std::string, void*> dot_handlers();

}  // namespace tenon
