#include "tenon/data/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include "tenon/base/error.h"

namespace tenon {
namespace {

TEST(PermutationTest, IsABijection) {
  for (uint64_t size : {1, 2, 3, 4, 5, 7, 16, 17, 100, 1000, 4097}) {
    for (uint64_t key : {0, 1, 99}) {
      const Permutation permutation(size, key);
      std::vector<bool> seen(size, false);
      for (uint64_t i = 0; i < size; ++i) {
        const uint64_t to = permutation(i);
        ASSERT_LT(to, size);
        ASSERT_FALSE(seen[to]) << size << " " << i;
        seen[to] = true;
      }
    }
  }
}

TEST(PermutationTest, HugeSizesWork) {
  const uint64_t size = ~uint64_t{0};
  const Permutation permutation(size, 7);
  std::set<uint64_t> seen;
  for (uint64_t i = 0; i < 1000; ++i) EXPECT_LT(*seen.insert(permutation(i)).first, size);
  EXPECT_EQ(seen.size(), 1000u);
}

TEST(PermutationTest, LooksRandom) {
  // Over many keys every place is reached about equally often: chi-squared with (12 - 1)^2 degrees of freedom.
  constexpr int kSize = 12, kKeys = 12000;
  std::vector<int> counts(kSize * kSize, 0);
  for (int key = 0; key < kKeys; ++key) {
    const Permutation permutation(kSize, static_cast<uint64_t>(key));
    for (uint64_t i = 0; i < kSize; ++i) ++counts[i * kSize + permutation(i)];
  }
  double chi = 0;
  for (const int count : counts) chi += std::pow(count - kKeys / kSize, 2) / (kKeys / kSize);
  EXPECT_LT(chi, 121 + 4 * std::sqrt(2 * 121.0));
  // Neighbours don't stay neighbours.
  const Permutation permutation(10000, 3);
  int close = 0;
  for (uint64_t i = 0; i + 1 < 10000; ++i) {
    const double step = static_cast<double>(permutation(i + 1)) - static_cast<double>(permutation(i));
    close += std::fabs(step) < 10 ? 1 : 0;
  }
  EXPECT_LT(close, 40);  // about 18 expected
}

TEST(PermutationTest, RefusesAWrongIndex) {
  EXPECT_THROW(Permutation(0, 0), Error);
  EXPECT_THROW(Permutation(4, 0)(4), Error);
}

TEST(WindowOrderTest, AnEpochVisitsEveryWindowOnce) {
  const WindowOrder order(1037, 10, 5);
  ASSERT_EQ(order.num_windows(), 103u);
  std::vector<uint64_t> offsets;
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<int> visits(1037, 0);
    for (uint64_t i = 0; i < 103; ++i) {
      const uint64_t start = order.start(epoch * 103 + i);
      ASSERT_LT(start, 1037u);
      for (uint64_t j = 0; j < 10; ++j) ++visits[(start + j) % 1037];
    }
    EXPECT_EQ(*std::max_element(visits.begin(), visits.end()), 1);
    EXPECT_EQ(std::accumulate(visits.begin(), visits.end(), 0), 1030);
    // The only gap is in front of the first window.
    const auto gap = std::adjacent_find(visits.begin(), visits.end(), [](int a, int b) { return a == 0 && b == 1; });
    offsets.push_back(static_cast<uint64_t>(gap - visits.begin() + 1) % 10);
  }
  EXPECT_FALSE(offsets[0] == offsets[1] && offsets[1] == offsets[2]);
}

TEST(WindowOrderTest, DependsOnlyOnSeedAndPosition) {
  const WindowOrder a(5000, 7, 1), b(5000, 7, 1), c(5000, 7, 2);
  int same = 0;
  for (uint64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(a.start(1000 - i), b.start(1000 - i));
    same += a.start(i) == c.start(i) ? 1 : 0;
  }
  EXPECT_LT(same, 5);
}

}  // namespace
}  // namespace tenon
