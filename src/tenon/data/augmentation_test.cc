#include "tenon/data/augmentation.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

namespace tenon {
namespace {

using testing::ElementsAre;

// The pixels, as numbers, of an image that `augmentation` changed.
std::vector<int> augmented(const Augmentation& augmentation, const ImageShape& shape, const std::vector<int>& pixels,
                           uint64_t key) {
  std::vector<std::byte> bytes;
  for (const int p : pixels) bytes.push_back(static_cast<std::byte>(p));
  AugmentedImage image{shape, bytes, key};
  augmentation(image);
  std::vector<int> out;
  for (const std::byte b : bytes) out.push_back(static_cast<int>(b));
  return out;
}

TEST(Augmentation, FlipsHalfOfTheImages) {
  const ImageShape shape{2, 2, 2};
  const std::vector<int> pixels{1, 2, 3, 4, 5, 6, 7, 8};
  std::map<std::vector<int>, int> seen;
  for (uint64_t key = 0; key < 400; ++key) ++seen[augmented(RandomFlip{}, shape, pixels, key)];
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_NEAR(seen.at(pixels), 200, 40);
  EXPECT_TRUE(seen.contains({3, 4, 1, 2, 7, 8, 5, 6}));
}

TEST(Augmentation, ShiftsEachWayAsOften) {
  std::map<std::vector<int>, int> seen;
  for (uint64_t key = 0; key < 900; ++key)
    ++seen[augmented(RandomShift{1}, {3, 3, 1}, {0, 0, 0, 0, 9, 0, 0, 0, 0}, key)];
  EXPECT_EQ(seen.size(), 9u);
  for (const auto& [pixels, count] : seen) EXPECT_NEAR(count, 100, 40);
  for (uint64_t key = 0; key < 20; ++key)
    EXPECT_THAT(augmented(RandomShift{0}, {1, 2, 1}, {3, 4}, key), ElementsAre(3, 4));
  // What moves out is gone, what comes in is zero.
  std::set<std::vector<int>> row;
  for (uint64_t key = 0; key < 100; ++key) row.insert(augmented(RandomShift{1}, {1, 3, 1}, {1, 2, 3}, key));
  EXPECT_THAT(row, testing::UnorderedElementsAre(std::vector<int>{1, 2, 3}, std::vector<int>{0, 1, 2},
                                                 std::vector<int>{2, 3, 0}, std::vector<int>{0, 0, 0}));
}

TEST(Augmentation, CropsStayInsideAndKeepSlopes) {
  // Brightness rises by 16 a pixel to the right, and by 1 downwards.
  std::vector<int> slope;
  for (int i = 0; i < 64; ++i) slope.push_back(16 * (i % 8) + i / 8);
  double smallest = 1, sum = 0;
  for (uint64_t key = 0; key < 200; ++key) {
    const std::vector<int> got = augmented(RandomCrop{0.25}, {8, 8, 1}, slope, key);
    const double width = (got[7] - got[0]) / 112.0, height = (got[56] - got[0]) / 7.0;
    EXPECT_GE(got[0], 0);
    EXPECT_LE(got[63], 119);
    EXPECT_LE(width, 1);
    EXPECT_LE(height, 1);
    smallest = std::min(smallest, width);
    sum += width;
  }
  EXPECT_NEAR(smallest, 0.45, 0.1);
  EXPECT_NEAR(sum / 200, 0.77, 0.06);
  EXPECT_EQ(augmented(RandomCrop{0.25}, {8, 8, 1}, std::vector<int>(64, 200), 3), std::vector<int>(64, 200));
}

TEST(Augmentation, DependsOnTheKeyAlone) {
  std::vector<int> pixels;
  for (int i = 0; i < 48; ++i) pixels.push_back(5 * i);
  for (const Augmentation& a : {Augmentation(RandomFlip{}), Augmentation(RandomShift{2}), Augmentation(RandomCrop{})}) {
    std::set<std::vector<int>> seen;
    for (uint64_t key = 0; key < 20; ++key) {
      const std::vector<int> once = augmented(a, {4, 4, 3}, pixels, key);
      EXPECT_EQ(augmented(a, {4, 4, 3}, pixels, key), once);
      seen.insert(once);
    }
    EXPECT_GT(seen.size(), 1u);
  }
}

}  // namespace
}  // namespace tenon
