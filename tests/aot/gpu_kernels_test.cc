// Kernels for GPUs in programs, and in what the compiler makes of them.
#include <fmt/format.h>
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
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;

using Use = AttentionGradients;

// On a GPU of this compute capability.
std::vector<std::string> choices(const Use& use, int compute_capability = 90) {
  return use.choices(kernels_for("cuda", compute_capability));
}

TEST(GpuKernels, CudnnTakesAttention) {
  EXPECT_THAT(choices(Use{}), ElementsAre("attention by cudnn_attention", "attention_backward by cudnn_attention"));
  Use windowed;
  windowed.options.pattern.window = 64;
  EXPECT_THAT(choices(windowed), Each(EndsWith("by cudnn_attention")));
  EXPECT_THAT(windowed.program(kernels_for("cuda")).text, HasSubstr(R"(\22sliding_window_length\22:64)"));
  Use all;
  all.options.pattern = {};
  EXPECT_THAT(choices(all), Each(EndsWith("by cudnn_attention")));
}

// What cuDNN refuses, the kernel in Triton takes.
TEST(GpuKernels, CudnnRefusesWhatItCannotDo) {
  const auto refused = [](const Use& use, const std::string& why) {
    EXPECT_THAT(choices(use), Each(HasSubstr("by triton_attention (cudnn_attention: " + why))) << why;
    EXPECT_THAT(choices(use), SizeIs(2));
  };
  refused({.dtype = DType::f32}, "takes f16 and bf16, not f32");
  refused({.H = 60}, "a head dim of 60");
  refused({.H = 256}, "a head dim of 256");
  refused({.documents = true}, "rows may hold several segments");
  Use use{.documents = true};
  use.options.pattern.segments = false;
  refused(use, "positions may differ from places in the row");
  use = {};
  use.options.logit_cap = 30;
  refused(use, "it has no logit_cap");
  use = {};
  use.options.pattern = {.causal = false, .window = 8, .segments = false};
  refused(use, "a window that isn't causal");
  EXPECT_THAT(choices({.T = 0}),
              Each(HasSubstr("by ordinary ops (cudnn_attention: an array is empty; triton_attention: "
                             "an array is empty)")));
  use = {};
  use.options.mask = [](const Tensor& queries, const Tensor& keys, const Tensor&, const Tensor&) {
    const Dims shape{queries.dim(0), queries.dim(1), keys.dim(1)};
    return less_equal(broadcast_to(expand_dims(keys, 1), shape), broadcast_to(expand_dims(queries, 2), shape));
  };
  EXPECT_THAT(choices(use), Each(HasSubstr("by ordinary ops (cudnn_attention: the mask is a function")));
  EXPECT_THAT(choices({}, 75),
              Each(HasSubstr("by ordinary ops (cudnn_attention: takes compute capability 8.0 and above, "
                             "not 7.5; triton_attention: takes compute")));
  use = {.lse = true};
  EXPECT_THAT(choices(use),
              ElementsAre("attention by cudnn_attention",
                          "attention_backward by triton_attention (cudnn_attention: lse has a gradient too)"));
}

TEST(SlowGpuKernels, TheCompilerTakesThem) {
  if (const Result<std::string> plugin = pjrt::find_plugin("cuda"); !plugin) GTEST_SKIP() << plugin.error().what();
  Use windowed, all, half{.dtype = DType::f16, .K = 8, .H = 128};
  windowed.options.pattern.window = 64;
  all.options.pattern = {};
  for (const Use& use : {Use{}, windowed, all, half}) {
    EXPECT_GE(count_instructions(compile_aot(AotTarget::parse("h100:1"), Mesh(), use.program(kernels_for("cuda"))),
                                 "custom-call"),
              2);
  }
  const Mesh mesh{{"data", 2}, {"model", 2}};
  const AotResult split = compile_aot(AotTarget::parse("h100:4"), mesh, Use{}.program(kernels_for("cuda"), mesh));
  EXPECT_GE(count_instructions(split, "custom-call"), 2);
}

TEST(SlowGpuKernels, TheCompilerTakesTheTextOfOthers) {
  if (const Result<std::string> plugin = pjrt::find_plugin("cuda"); !plugin) GTEST_SKIP() << plugin.error().what();
  const AotMachine machine = AotMachine::open(AotTarget::parse("h100:1"));
  EXPECT_EQ(machine.compute_capability(), 90);
  Use all{.dtype = DType::f32, .H = 128}, rich{.T = 300, .H = 80, .documents = true, .lse = true};
  all.options.pattern = {};
  rich.options.pattern.window = 64;
  rich.options.logit_cap = 30;
  const Use wide{.K = 8, .H = 256, .documents = true}, half{.dtype = DType::f16, .T = 40, .documents = true};
  for (const Use& use : {all, rich, wide, half, Use{.dtype = DType::f32, .H = 256}}) {
    const KernelList kernels = kernels_for("cuda", machine.compute_capability());
    EXPECT_THAT(use.choices(kernels), Each(HasSubstr("by triton_attention")));
    EXPECT_EQ(count_instructions(machine.compile(Mesh(), use.program(kernels)), "custom-call"), 3);
  }
  const Mesh mesh{{"data", 2}, {"model", 2}};
  const Use documents{.documents = true};
  const AotResult split = compile_aot(AotTarget::parse("h100:4"), mesh, documents.program(kernels_for("cuda"), mesh));
  EXPECT_EQ(count_instructions(split, "custom-call"), 3);
}

TEST(SlowGpuKernels, AStepOfAusten) {
  if (const Result<std::string> plugin = pjrt::find_plugin("cuda"); !plugin) GTEST_SKIP() << plugin.error().what();
  register_everything(Registry::global());
  Trainer::Config config = Austen{}();
  config.mesh.fsdp = 2;
  config.mesh.model = 2;
  auto& model = config.model.as<CausalLm>();
  model.compute_dtype = DType::bf16;
  for (const bool documents : {false, true}) {
    model.separate_documents = documents;
    const StepReport report = compile_train_step(config, "h100:4");
    ASSERT_THAT(report.kernels, SizeIs(2));
    for (const KernelChoice& choice : report.kernels)
      EXPECT_EQ(choice.implementation, documents ? "triton_attention" : "cudnn_attention") << to_string(choice);
    EXPECT_TRUE(report.fits());
  }
}

}  // namespace
}  // namespace tenon
