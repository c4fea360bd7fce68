#include "tenon/aot/cpu_workspace.h"

#include <gtest/gtest.h>

#include "tenon/aot/test_hlo.h"

namespace tenon {
namespace {

constexpr int64_t kRuntime = 1024 * 1024;

TEST(CpuWorkspace, OfTheThreeLargestProductsOfAComputation) {
  pjrt::HloModule module;
  EXPECT_EQ(cpu_workspace(module, 1, 2), kRuntime);
  // [64,32] x [32,16], three times, and a small one: 4 (64 + 16) 32 bytes each.
  add_computation(module,
                  {hlo("parameter", f32({64, 32})), hlo("parameter", f32({32, 16})), hlo("dot", f32({64, 16}), {0, 1}),
                   hlo("dot", f32({64, 16}), {0, 1}), hlo("dot", f32({64, 16}), {0, 1}), hlo("parameter", f32({2, 2})),
                   hlo("dot", f32({2, 2}), {5, 5})});
  EXPECT_EQ(cpu_workspace(module, 1, 2), kRuntime + 3 * 4 * (64 + 16) * 32);
  // In another computation, deep: two slices of 320 along the contraction, which are more than all of 400.
  add_computation(
      module, {hlo("parameter", f32({64, 400})), hlo("parameter", f32({400, 16})), hlo("dot", f32({64, 16}), {0, 1})});
  EXPECT_EQ(cpu_workspace(module, 1, 2), kRuntime + 4 * (64 + 16) * 640);
}

TEST(CpuWorkspace, WhateverSizesAProgramNames) {
  constexpr int64_t kHuge = int64_t{1} << 60;
  pjrt::HloModule module;
  const pjrt::HloShape huge = f32({kHuge, kHuge, kHuge, kHuge});
  add_computation(module, {hlo("parameter", huge), hlo("dot", huge, {0}), hlo("dot", huge, {0, 0}),
                           hlo("custom-call", huge, {0, 0, 0})});
  EXPECT_GT(cpu_workspace(module, 1, 2), kRuntime);
}

TEST(CpuWorkspace, ThreadsKeepRoomForAttention) {
  pjrt::HloModule module;
  // [B,K,S,H]: 100 keys are two blocks of 64.
  add_computation(module, {hlo("parameter", f32({2, 4, 8, 16})), hlo("parameter", f32({2, 2, 100, 16})),
                           hlo("custom-call", f32({2, 4, 8, 16}), {0, 1, 1})});
  const int64_t a_thread = 4 * (7 * 128 * 16 + 5 * 48 * 16 + 2 * 48 * 64);
  EXPECT_EQ(cpu_workspace(module, 1, 2), kRuntime + 2 * a_thread);
  EXPECT_EQ(cpu_workspace(module, 2, 2), kRuntime + a_thread);
  EXPECT_EQ(cpu_workspace(module, 8, 2), kRuntime + a_thread);
}

}  // namespace
}  // namespace tenon
