#include "tenon/experiments/mesh_rule_list.h"

#include <gmock/gmock.h>

#include "tenon/trainer/modifiers.h"

namespace tenon {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> names(const std::vector<MachineSize>& sizes) {
  std::vector<std::string> out;
  for (const MachineSize& size : sizes) out.push_back(size.name + " has " + std::to_string(size.devices));
  return out;
}

TEST(MeshRuleList, Sizes) {
  EXPECT_THAT(names(powers_of_two(4, 16)), ElementsAre("4 has 4", "8 has 8", "16 has 16"));
  EXPECT_THAT(names(powers_of_two(8, 8, 2)), ElementsAre("8 has 4"));
  EXPECT_THAT(names(slices(256, 128, {1, 2})), ElementsAre("256 has 128", "256-2 has 256"));
}

// A batch of 16 sequences of 100 tokens, of which a device takes 200 tokens at a time.
TEST(MeshRuleList, MicrobatchesAndModelFollowFromTheSize) {
  MeshRuleList list(16, 100);
  list.add("gpu-x", powers_of_two(2, 256), {{.data = -1, .fsdp = 2}, 250, {AccumulateGradients{7}}});
  struct Expected {
    const char* instance;
    MeshConfig mesh;
    int64_t accumulation;  // 0: no modifier for it
  };
  const std::vector<Expected> expected = {
      {"gpu-x-2", {.data = -1, .fsdp = 2}, 4},
      {"gpu-x-4", {.data = -1, .fsdp = 2}, 2},
      {"gpu-x-(8|16)", {.data = -1, .fsdp = 2}, 0},
      {"gpu-x-32", {.data = -1, .fsdp = 1, .model = 2}, 0},
      {"gpu-x-64", {.data = -1, .fsdp = 1, .model = 4}, 0},
      {"gpu-x-128", {.data = -1, .fsdp = 1, .model = 8}, 0},  // and none for 256
  };
  const std::vector<MeshRule> rules = list.rules();
  ASSERT_EQ(rules.size(), expected.size());
  for (size_t i = 0; i < rules.size(); ++i) {
    const Expected& e = expected[i];
    EXPECT_EQ(*rules[i].instance, e.instance);
    const std::vector<Modifier>& modifiers = rules[i].modifiers;
    ASSERT_EQ(modifiers.size(), e.accumulation > 0 ? 3u : 2u) << e.instance;
    EXPECT_EQ(modifiers[0].as<SetMesh>()->mesh, e.mesh) << e.instance;
    EXPECT_EQ(modifiers[1].as<AccumulateGradients>()->steps, 7) << "the layout's own";
    if (e.accumulation > 0) {
      EXPECT_EQ(modifiers[2].as<AccumulateGradients>()->steps, e.accumulation) << e.instance;
    }
  }
}

TEST(MeshRuleList, AtLeastOneSequenceAtATime) {
  MeshRuleList list(4, 100);
  list.add("gpu-x", powers_of_two(2, 2), {{.data = 1, .fsdp = -1}, 1, {}});
  EXPECT_EQ(list.rules().at(0).modifiers.at(1).as<AccumulateGradients>()->steps, 2);
}

}  // namespace
}  // namespace tenon
