// Products of matrices as calls in programs.
#pragma once

#include <map>
#include <string>

#include "tenon/passes/select_kernels.h"

namespace tenon {

KernelList matmul_kernels();
// XLA_FFI_Handler* by the target names of the calls.
std::map<std::string, void*> matmul_handlers();

}  // namespace tenon
