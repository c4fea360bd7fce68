// Masks against loops over positions and segments.
#include "tenon/nn/attention/mask.h"

#include <gtest/gtest.h>

#include <functional>

#include "tenon/config/config_type.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/nn/testing/evaluate.h"

namespace tenon {
namespace {

const std::vector<int64_t> kPositions{0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3},
    kSegments{1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2};
constexpr int64_t kPlaces = 12;

// seen(query position, key position), for tokens of one segment.
void expect_sees(const Mask& mask, const std::function<bool(int64_t, int64_t)>& seen) {
  const Values inputs{{"positions", Literal::from(DType::i32, {1, kPlaces}, kPositions)},
                      {"segments", Literal::from(DType::i32, {1, kPlaces}, kSegments)}};
  const Literal got = evaluate({}, inputs, [&](const Nest&, const Nest& in) {
                        const Tensor &p = in.at("positions"), &s = in.at("segments");
                        return Nest{{"", mask(MaskArgs{p, p, s, s})}};
                      }).at("");
  ASSERT_EQ(got.type(), (TensorType{DType::i1, {1, kPlaces, kPlaces}}));
  for (size_t q = 0; q < kPlaces; ++q) {
    for (size_t k = 0; k < kPlaces; ++k) {
      const bool want = kSegments[q] == kSegments[k] && seen(kPositions[q], kPositions[k]);
      EXPECT_EQ(got.as_int(static_cast<int64_t>(q * kPlaces + k)) != 0, want)
          << mask.type()->name() << " query " << q << " key " << k;
    }
  }
}

TEST(Mask, SeesWhatItSays) {
  expect_sees(SegmentMask{}, [](int64_t, int64_t) { return true; });
  expect_sees(CausalMask{}, [](int64_t q, int64_t k) { return k <= q; });
  expect_sees(SlidingWindowMask{3}, [](int64_t q, int64_t k) { return k <= q && q - k < 3; });
  expect_sees(PrefixMask{3}, [](int64_t q, int64_t k) { return k <= q || k < 3; });
  expect_sees(BlockSparseMask{.block = 2, .local_blocks = 2},
              [](int64_t q, int64_t k) { return std::abs(q / 2 - k / 2) < 2; });
  expect_sees(BlockSparseMask{.block = 2, .local_blocks = 1, .global_blocks = 1, .stride = 3},
              [](int64_t q, int64_t k) { return q / 2 == k / 2 || k / 2 < 1 || k / 2 % 3 == 2; });
}

TEST(Mask, Combinations) {
  expect_sees(AndMask{{CausalMask{}, BlockSparseMask{.block = 3}}},
              [](int64_t q, int64_t k) { return k <= q && q / 3 == k / 3; });
  expect_sees(OrMask{{SlidingWindowMask{1}, BlockSparseMask{.block = 2, .local_blocks = 0, .stride = 2}}},
              [](int64_t q, int64_t k) { return q == k || k / 2 % 2 == 1; });
  expect_sees(OrMask{{AndMask{{CausalMask{}, PrefixMask{2}}}, SlidingWindowMask{2}}},
              [](int64_t q, int64_t k) { return k <= q; });
}

TEST(Mask, RefusesNonsense) {
  const auto code = [](const Mask& mask) {
    const auto error = error_of([&] { expect_sees(mask, [](int64_t, int64_t) { return true; }); });
    return error ? error->code() : ErrorCode::internal;
  };
  EXPECT_EQ(code(SlidingWindowMask{0}), ErrorCode::invalid_argument);
  EXPECT_EQ(code(PrefixMask{-1}), ErrorCode::invalid_argument);
  EXPECT_EQ(code(BlockSparseMask{.block = 0}), ErrorCode::invalid_argument);
  EXPECT_EQ(code(AndMask{}), ErrorCode::invalid_argument);
  EXPECT_EQ(code(OrMask{}), ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace tenon
