#include "tenon/trainer/kernel_config.h"

#include <gmock/gmock.h>

namespace tenon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> names(const KernelList& list) {
  std::vector<std::string> out;
  for (const KernelImplementation& k : list) out.emplace_back(k.kernel);
  return out;
}

TEST(KernelConfig, TakesOutWhatItNames) {
  const KernelList all{{"attention", "fast", nullptr, nullptr},
                       {"attention_backward", "fast", nullptr, nullptr},
                       {"attention", "slow", nullptr, nullptr},
                       {"dot_general", "own", nullptr, nullptr}};
  EXPECT_EQ(names(KernelConfig{}.allowed(all)).size(), 4U);
  EXPECT_THAT(names(KernelConfig{{"attention"}}.allowed(all)), ElementsAre("attention_backward", "dot_general"));
}

TEST(KernelConfig, UnknownNamesAreErrors) {
  Checker fine, bad;
  KernelConfig{{"attention", "dot_general"}}.check(fine);
  EXPECT_TRUE(fine.problems().empty());
  KernelConfig{{"attention", "atention"}}.check(bad);
  ASSERT_EQ(bad.problems().size(), 1U);
  EXPECT_THAT(bad.problems()[0].message, HasSubstr("no platform has a kernel for 'atention'; there are kernels for "));
}

}  // namespace
}  // namespace tenon
