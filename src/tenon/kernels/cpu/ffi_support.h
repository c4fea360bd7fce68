// What the FFI handlers share.
#pragma once

#include "tenon/kernels/cpu/parallel.h"
#include "xla/ffi/api/ffi.h"

namespace tenon {

// XLA's threads. `pool` lives as long as the call.
inline Workers workers_of(xla::ffi::ThreadPool& pool) {
  return {pool.num_threads(), [&pool](std::function<void()> f) { pool.Schedule(std::move(f)); }};
}

}  // namespace tenon
