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
  EXPECT_EQ(module_of("a/manual/a.core/dot"), "a.core");
  EXPECT_EQ(module_of("(a.up/dot:a.gate/dot)"), "a.up");
  EXPECT_EQ(module_of("(a.up/dot)"), "a.up");
  EXPECT_EQ(module_of("("), "");
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
      module, {hlo("parameter", kOne), hlo("broadcast", stack, {0}, "broadcast.5"), hlo("dot", kOne, {0}, "m/dot"),
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
  EXPECT_EQ(peak.buffers[0].op, "m/save");  // what begins it has no module's name
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

// Tuples of tuples of the same, thirty times: what they hold doubles each time, what they say they are doesn't.
TEST(Liveness, TuplesThatAreNotTheirShapeDoNotMultiply) {
  HloModule module;
  const pjrt::HloShape pair = tuple_of({kOne, kOne});
  std::vector<HloInstruction> all{hlo("parameter", kOne), hlo("tuple", pair, {0, 0})};
  for (size_t n = 1; n <= 30; ++n) all.push_back(hlo("tuple", pair, {n, n}));
  all.push_back(hlo("dot", kOne, {31}));
  add_computation(module, all);
  // The first is the argument twice, each other has two arrays of its own. Beside them are the two of the one before
  // it, one of which gives its place.
  EXPECT_EQ(find_peak(module).bytes, 3 * kKib);
}

TEST(Liveness, SizesOfNoDeviceDoNotWrapAround) {
  HloModule module;
  const pjrt::HloShape huge = f32({int64_t{1} << 40, int64_t{1} << 40});
  const std::vector<pjrt::HloShape> many(100, huge);
  add_computation(module, {hlo("parameter", kOne), hlo("custom-call", tuple_of(many), {0}), hlo("dot", kOne, {1})});
  EXPECT_EQ(find_peak(module).bytes, 100 * (int64_t{1} << 42));
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

// The operand of 1 is in the shape of what is started, beside the result of 4; awaiting moves nothing.
TEST(Traffic, StartedAndAwaitedCountsOnce) {
  HloModule module;
  add_computation(module, {hlo("parameter", kOne), hlo("all-gather-start", tuple_of({kOne, kibs(4)}), {0}),
                           hlo("all-gather-done", kibs(4), {1})});
  EXPECT_EQ(count_memory_traffic(module), 5 * kKib);
  HloModule reduced;  // its shape is the result alone
  add_computation(
      reduced, {hlo("parameter", kOne), hlo("parameter", kOne), hlo("all-reduce-start", tuple_of({kOne, kOne}), {0, 1}),
                hlo("all-reduce-done", tuple_of({kOne, kOne}), {2})});
  EXPECT_EQ(count_memory_traffic(reduced), 4 * kKib);
}

// A slice of 1 behind twenty bitcasts of an array of 8, each of which names its operand so many times.
TEST(Traffic, SlicesBehindBitcasts) {
  const auto traffic = [](size_t times) {
    HloModule module;
    std::vector<HloInstruction> all{hlo("parameter", kibs(8))};
    for (size_t n = 0; n < 20; ++n) all.push_back(hlo("bitcast", kibs(8), std::vector<size_t>(times, n)));
    all.push_back(hlo("slice", kOne, {20}));
    const size_t inner = add_computation(module, all);
    add_computation(module, {hlo("parameter", kibs(8)), hlo("fusion", kOne, {0}, "", {inner})});
    return count_memory_traffic(module);
  };
  EXPECT_EQ(traffic(1), 2 * kKib);
  EXPECT_EQ(traffic(50), 9 * kKib);  // no bitcasts: all is read; and not in 50^20 turns
}

}  // namespace
}  // namespace tenon
