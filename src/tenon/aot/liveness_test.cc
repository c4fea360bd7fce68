#include "tenon/aot/liveness.h"

#include <gmock/gmock.h>

#include "tenon/aot/hlo_traffic.h"
#include "tenon/aot/test_hlo.h"

namespace tenon {
namespace {

using pjrt::HloInstruction;
using pjrt::HloModule;

constexpr int64_t kKib = 1024;
const pjrt::HloShape kOne = f32({256});  // a KiB
pjrt::HloShape kibs(int64_t count) { return f32({count, 256}); }

TEST(Liveness, SumsWhatIsLiveAtOnce) {
  HloModule module;
  add_computation(module, {hlo("parameter", kOne), hlo("dot", kibs(3), {0}, "a/dot"), hlo("dot", kibs(5), {1}, "b/dot"),
                           hlo("dot", kibs(4), {2}, "c/dot"), hlo("dot", kOne, {3}, "d/dot")});
  const PeakMemory peak = find_peak(module);  // 5 + 4; the argument and the result aren't temporaries
  EXPECT_EQ(peak.bytes, 9 * kKib);
  ASSERT_EQ(peak.buffers.size(), 2U);
  EXPECT_EQ(peak.buffers[0].op, "b/dot");
  EXPECT_EQ(peak.buffers[1].op, "c/dot");
  EXPECT_EQ(peak.of(BufferRole::temporary), 9 * kKib);
  EXPECT_EQ(module_of("b/dot"), "b");
  EXPECT_EQ(module_of("dot"), "");
}

TEST(Liveness, ElementwiseWorkTakesThePlaceOfWhatEnds) {
  HloModule module;
  add_computation(module, {hlo("parameter", kOne), hlo("dot", kibs(3), {0}), hlo("negate", kibs(3), {1}),
                           hlo("add", kibs(3), {2, 2}), hlo("dot", kOne, {3})});
  EXPECT_EQ(find_peak(module).bytes, 3 * kKib);
}

TEST(Liveness, OtherMemoriesDoNotCount) {
  pjrt::HloShape host = kibs(7);
  host.memory_space = 5;
  HloModule module;
  add_computation(module,
                  {hlo("parameter", kOne), hlo("copy", host, {0}), hlo("dot", kibs(2), {1}), hlo("dot", kOne, {2})});
  EXPECT_EQ(find_peak(module).bytes, 2 * kKib);
}

// A forward loop writes a stack, a backward loop reads it; a gradient is made there and read by the learner.
HloModule two_loops() {
  HloModule module;
  const pjrt::HloShape stack = kibs(8), carry = tuple_of({kOne, stack});
  const size_t forward =
      add_computation(module, {hlo("parameter", carry), hlo_member(carry, 0, 0), hlo_member(carry, 0, 1),
                               hlo("dot", kibs(2), {1}, "m/dot"), hlo("dot", kOne, {3}, "m/dot"),
                               hlo("dynamic-update-slice", stack, {2, 4}, "m/save"), hlo("tuple", carry, {4, 5})});
  const size_t backward =
      add_computation(module, {hlo("parameter", carry), hlo_member(carry, 0, 0), hlo_member(carry, 0, 1),
                               hlo("dot", kOne, {1, 2}, "m/dot"), hlo("tuple", carry, {3, 2})});
  const size_t condition = add_condition(module, carry);
  add_computation(
      module, {hlo("parameter", kOne), hlo("broadcast", stack, {0}), hlo("dot", kOne, {0}, "m/dot"),
               hlo("tuple", carry, {2, 1}), hlo_loop(carry, 3, forward, condition, 8), hlo_member(carry, 4, 1),
               hlo("dot", kOne, {0}, "m/dot"), hlo("tuple", carry, {6, 5}), hlo_loop(carry, 7, backward, condition, 8),
               hlo_member(carry, 8, 0), hlo("dot", kOne, {9}, "learner.optimizer/mul")});
  return module;
}

TEST(Liveness, LoopsAndRoles) {
  const PeakMemory peak = find_peak(two_loops());
  // In the forward loop: the stack, its carry, and what its body needs inside.
  EXPECT_EQ(peak.bytes, 8 * kKib + kKib + 2 * kKib);
  EXPECT_EQ(peak.of(BufferRole::saved_activation), 8 * kKib);
  EXPECT_EQ(peak.buffers[0].op, "m/save");  // what begins it has no name
  EXPECT_EQ(peak.of(BufferRole::gradient), 0);
  EXPECT_EQ(peak.of(BufferRole::temporary), 3 * kKib);

  HloModule module;  // the gradient is live alone
  add_computation(module, {hlo("parameter", kOne), hlo("dot", kibs(3), {0}, "m/dot"),
                           hlo("dot", kOne, {1}, "learner.optimizer/mul")});
  EXPECT_EQ(find_peak(module).of(BufferRole::gradient), 3 * kKib);
}

TEST(Liveness, FusionsThatUpdateASliceDoNotMakeAnArray) {
  HloModule module;
  const pjrt::HloShape stack = kibs(8);
  HloInstruction first = hlo("parameter", stack), second = hlo("parameter", kOne);
  second.parameter_number = 1;
  const size_t inner =
      add_computation(module, {first, second, hlo("negate", kOne, {1}), hlo("dynamic-update-slice", stack, {0, 2})});
  add_computation(module, {hlo("parameter", kOne), hlo("broadcast", stack, {0}),
                           hlo("fusion", stack, {1, 0}, "", {inner}), hlo("dot", kOne, {2})});
  EXPECT_EQ(find_peak(module).bytes, 8 * kKib);
  // Traffic: the broadcast reads 1 and writes 8, the fusion reads 1 and writes 1, the product reads 8 and writes 1.
  EXPECT_EQ(count_memory_traffic(module), 20 * kKib);
}

TEST(Traffic, LoopsTakeSlices) {
  HloModule module;
  const pjrt::HloShape stack = kibs(8), carry = tuple_of({kOne, stack});
  const size_t body =
      add_computation(module, {hlo("parameter", carry), hlo_member(carry, 0, 0), hlo_member(carry, 0, 1),
                               hlo("dynamic-slice", kOne, {2}), hlo("add", kOne, {1, 3}), hlo("tuple", carry, {4, 2})});
  const size_t condition = add_condition(module, carry);
  HloInstruction x = hlo("parameter", kOne), s = hlo("parameter", stack);
  add_computation(module, {x, s, hlo("tuple", carry, {0, 1}), hlo_loop(carry, 2, body, condition, 8)});
  // A trip: 2 for the slice, 3 for the sum. The condition runs as often, and reads carry and writes a number.
  EXPECT_EQ(count_memory_traffic(module), 8 * 5 * kKib + 8 * (9 * kKib + 4));
}

}  // namespace
}  // namespace tenon
