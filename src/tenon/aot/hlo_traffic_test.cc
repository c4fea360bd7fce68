#include "tenon/aot/hlo_traffic.h"

#include <gtest/gtest.h>

#include "tenon/aot/test_hlo.h"

namespace tenon {
namespace {

constexpr double kPiece = 16 * 4 * 4;

// In a TPU's VMEM, whose traffic doesn't count.
pjrt::HloShape inside(pjrt::HloShape shape) {
  shape.memory_space = 1;
  return shape;
}

TEST(HloTraffic, PiecesBroughtInsideAreReadFromMainMemory) {
  pjrt::HloModule module;
  add_computation(module, {hlo("parameter", f32({64, 4})), hlo("slice", inside(f32({16, 4})), {0})});
  EXPECT_EQ(count_memory_traffic(module), kPiece);
  module.computations[0].instructions[0].shape.memory_space = 1;
  EXPECT_EQ(count_memory_traffic(module), 0);
  module.computations[0].instructions[1].shape.memory_space = 0;
  EXPECT_EQ(count_memory_traffic(module), kPiece);  // written
}

TEST(HloTraffic, PiecesFromInsideAreWrittenToMainMemory) {
  const auto traffic = [](const pjrt::HloShape& whole) {
    pjrt::HloModule module;
    add_computation(module, {hlo("parameter", whole), hlo("parameter", inside(f32({16, 4}))),
                             hlo("dynamic-update-slice", whole, {0, 1})});
    return count_memory_traffic(module);
  };
  EXPECT_EQ(traffic(f32({64, 4})), kPiece);
  EXPECT_EQ(traffic(inside(f32({64, 4}))), 0);
}

TEST(HloTraffic, SoAreThoseOfFusions) {
  pjrt::HloModule module;
  const pjrt::HloShape whole = f32({64, 4}), piece = inside(f32({16, 4}));
  const size_t take = add_computation(module, {hlo("parameter", whole), hlo("dynamic-slice", piece, {0})});
  const size_t put = add_computation(
      module, {hlo("parameter", whole), hlo("parameter", piece), hlo("dynamic-update-slice", whole, {0, 1})});
  add_computation(module, {hlo("parameter", whole), hlo("fusion", piece, {0}, "", {take}),
                           hlo("fusion", whole, {0, 1}, "", {put})});
  EXPECT_EQ(count_memory_traffic(module), 2 * kPiece);
}

// As libtpu nests them: the slice is taken, and put, by a fusion within one.
TEST(HloTraffic, FusionsWithinFusionsTakeSlicesToo) {
  pjrt::HloModule module;
  const pjrt::HloShape whole = f32({64, 4}), piece = f32({16, 4});
  const auto numbered = [](pjrt::HloInstruction i, int64_t number) {
    i.parameter_number = number;
    return i;
  };
  const size_t take = add_computation(module, {hlo("parameter", piece), numbered(hlo("parameter", whole), 1),
                                               hlo("dynamic-slice", piece, {1}), hlo("add", piece, {0, 2})});
  const size_t put = add_computation(module, {hlo("parameter", whole), numbered(hlo("parameter", piece), 1),
                                              hlo("dynamic-update-slice", whole, {0, 1})});
  const size_t outer = add_computation(module, {numbered(hlo("parameter", whole), 1), hlo("parameter", piece),
                                                hlo("fusion", piece, {1, 0}, "", {take}), hlo("negate", piece, {2})});
  const size_t writer = add_computation(
      module, {hlo("parameter", whole), numbered(hlo("parameter", piece), 1), hlo("fusion", whole, {0, 1}, "", {put})});
  add_computation(module, {hlo("parameter", whole), hlo("parameter", piece), hlo("fusion", piece, {1, 0}, "", {outer}),
                           hlo("fusion", whole, {0, 2}, "", {writer})});
  // Read: a piece and a slice; written: a piece. Then a piece is read, and written into its place.
  EXPECT_EQ(count_memory_traffic(module), 5 * kPiece);
}

}  // namespace
}  // namespace tenon
