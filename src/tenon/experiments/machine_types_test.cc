#include "tenon/experiments/machine_types.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "tenon/ir/testing/errors.h"
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

TEST(MachineTypes, AnInstanceIsTheTargetsMachine) {
  const auto error = [](const std::string& instance, const std::string& chip, int64_t devices) {
    const auto found = error_of([&] { check_instance(instance, chip, devices); });
    return found ? std::string(found->what()) : "";
  };
  EXPECT_EQ(error("gpu-h100-256", "h100", 256), "");
  EXPECT_EQ(error("tpu-v5p-512", "v5p", 256), "") << "sizes count cores";
  EXPECT_EQ(error("paper-gpu-h100-256", "h200", 8), "") << "no machine, but a rule's name";
  EXPECT_EQ(error("abacus-7", "h100", 8), "");
  EXPECT_THAT(error("tpu-v5p-512", "h100", 256),
              AllOf(HasSubstr("invalid_argument at --instance"), HasSubstr("got tpu-v5p-512: 256 x v5p"),
                    HasSubstr("expected one of 256 x h100, as gpu-h100-256, gpu-p5.48xlarge-256")));
  EXPECT_THAT(error("gpu-h100-256", "h100", 12), HasSubstr("expected one of 12 x h100)"));
}

}  // namespace
}  // namespace tenon
