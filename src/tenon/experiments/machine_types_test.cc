#include "tenon/experiments/machine_types.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "tenon/runtime/chips.h"

namespace tenon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kAbacus = R"([abacus]
chip = "beads"
also = ["cash-register"]
sizes = [4, 8]
size_per_device = 2
slices_of = [8]
slices = [3]
)";

TEST(MachineTypes, AreMadeOfKindsSizesAndSlices) {
  const std::vector<MachineType> machines = parse_machine_types(kAbacus, "abacus.toml").value();
  EXPECT_EQ(machines, (std::vector<MachineType>{{"abacus-4", "beads", 2},
                                                {"abacus-8", "beads", 4},
                                                {"abacus-8-3", "beads", 12},
                                                {"cash-register-4", "beads", 2},
                                                {"cash-register-8", "beads", 4},
                                                {"cash-register-8-3", "beads", 12}}));
}

TEST(MachineTypes, SayWhatIsWrong) {
  const auto error = [](const std::string& text) {
    const Result<std::vector<MachineType>> parsed = parse_machine_types(text, "m.toml");
    return parsed.ok() ? "" : std::string(parsed.error().what());
  };
  EXPECT_THAT(error("[a]\nsizes = [1]\n"), AllOf(HasSubstr("missing_field"), HasSubstr("a.chip")));
  EXPECT_THAT(error("[a]\nchip = 'x'\nsize = [1]\n"), AllOf(HasSubstr("m.toml:3"), HasSubstr("did you mean sizes")));
  EXPECT_THAT(error("[a]\nchip = 'x'\n"), HasSubstr("must name a size"));
  EXPECT_THAT(error("[a]\nchip = 'x'\nsizes = [3]\nsize_per_device = 2\n"), HasSubstr("must be of whole devices"));
  EXPECT_THAT(error("[a]\nchip = 'x'\nsizes = [0]\n"), HasSubstr("must be of whole devices"));
  EXPECT_THAT(error("[a]\nchip = 'x'\nsizes = [1]\nslices = [2]\n"), HasSubstr("go with slices_of"));
  EXPECT_THAT(error("[a]\nchip = 'x'\nsizes = [1]\nsize_per_device = 0\n"), HasSubstr("size_per_device"));
  EXPECT_THAT(error("machines"), HasSubstr("m.toml:1"));
}

TEST(MachineTypes, KnownOnesHaveKnownChipsAndAllChipsHaveMachines) {
  std::set<std::string> names, chips;
  for (const MachineType& machine : builtin_machine_types()) {
    EXPECT_TRUE(names.insert(machine.instance).second) << machine.instance;
    if (machine.chip == "cpu") continue;
    EXPECT_NO_THROW(ChipTable::builtin().find(machine.chip)) << machine.instance;
    if (!machine.is_choice) chips.insert(machine.chip);
  }
  EXPECT_EQ(chips.size(), ChipTable::builtin().chips().size());
}

TEST(MachineTypes, SizesAreOfTheirVendors) {
  const auto devices = [](const std::string& instance) {
    const std::vector<MachineType>& all = builtin_machine_types();
    const auto it = std::find_if(all.begin(), all.end(), [&](const MachineType& m) { return m.instance == instance; });
    return it == all.end() ? -1 : it->devices;
  };
  EXPECT_EQ(devices("tpu-v4-1024"), 1024);
  EXPECT_EQ(devices("tpu-v5p-1024"), 512);
  EXPECT_EQ(devices("tpu-v5p-1024-2"), 1024);
  EXPECT_EQ(devices("tpu-v5litepod-256-4"), 1024);
  EXPECT_EQ(devices("gpu-a3-ultragpu-8g-64"), 64);
  EXPECT_EQ(devices("gpu-p5.48xlarge-4"), -1);
}

}  // namespace
}  // namespace tenon
