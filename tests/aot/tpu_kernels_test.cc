// Kernels for TPUs in programs, and in what the compiler makes of them.
#include <gmock/gmock.h>

#include "attention_gradients.h"
#include "count_instructions.h"
#include "tenon/aot/step_report.h"
#include "tenon/config/registry.h"
#include "tenon/experiments/austen.h"
#include "tenon/experiments/experiment.h"
#include "tenon/nn/language/causal_lm.h"
#include "tenon/pjrt/plugin.h"

namespace tenon {
namespace {

using ::testing::Each;
using ::testing::EndsWith;
using ::testing::SizeIs;
using Use = AttentionGradients;

TEST(SlowTpuKernels, TheCompilerTakesThem) {
  if (const Result<std::string> plugin = pjrt::find_plugin("tpu"); !plugin) GTEST_SKIP() << plugin.error().what();
  const KernelList kernels = kernels_for("tpu");
  Use all{.dtype = DType::f32, .K = 8, .H = 128}, rich{.T = 600, .H = 80, .documents = true, .lse = true};
  all.options.pattern = {};
  rich.options.pattern.window = 64;
  rich.options.logit_cap = 30;
  const Use wide{.dtype = DType::f32, .T = 1024, .H = 256}, narrow{.T = 1024, .H = 256, .documents = true};
  for (const char* target : {"v5p:1x1x1", "v6e:1x1"}) {
    const AotMachine machine = AotMachine::open(AotTarget::parse(target));
    for (const Use& use : {Use{}, all, rich, wide, narrow}) {
      EXPECT_THAT(use.choices(kernels), Each(EndsWith("by mosaic_attention")));
      EXPECT_GE(count_instructions(machine.compile(Mesh(), use.program(kernels)), "custom-call"), 3) << target;
    }
  }
}

// Beside the context of 8 MiB no array of queries times keys (128 MiB in bf16), and numbers of tokens as rows: as
// columns, lse and delta would take 16 MiB each.
TEST(SlowTpuKernels, TakeLittleMemory) {
  if (const Result<std::string> plugin = pjrt::find_plugin("tpu"); !plugin) GTEST_SKIP() << plugin.error().what();
  const Use use{.B = 1, .K = 8, .T = 4096, .H = 128, .documents = true};
  const AotResult result = compile_aot(AotTarget::parse("v5p:1x1x1"), Mesh(), use.program(kernels_for("tpu")));
  EXPECT_LT(result.memory.temporary, 10 << 20);
}

TEST(SlowTpuKernels, EachDeviceTakesItsPart) {
  if (const Result<std::string> plugin = pjrt::find_plugin("tpu"); !plugin) GTEST_SKIP() << plugin.error().what();
  const Mesh mesh{{"data", 2}, {"model", 2}};
  const Use use{.documents = true};
  const AotResult split = compile_aot(AotTarget::parse("v5p:2x2x1"), mesh, use.program(kernels_for("tpu"), mesh));
  EXPECT_GE(count_instructions(split, "custom-call"), 3);
}

TEST(SlowTpuKernels, AStepOfAusten) {
  if (const Result<std::string> plugin = pjrt::find_plugin("tpu"); !plugin) GTEST_SKIP() << plugin.error().what();
  register_everything(Registry::global());
  Trainer::Config config = Austen{}();
  config.mesh.fsdp = 2;
  config.mesh.model = 2;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    config.model.as<CausalLm>().compute_dtype = dtype;
    const StepReport report = compile_train_step(config, "v5p:2x2x1");
    ASSERT_THAT(report.kernels, SizeIs(2));
    for (const KernelChoice& choice : report.kernels)
      EXPECT_EQ(choice.implementation, "mosaic_attention") << to_string(choice);
    EXPECT_TRUE(report.fits());
  }
}

}  // namespace
}  // namespace tenon
