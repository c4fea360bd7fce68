// cuDNN's kernels in programs, and in what the GPU compiler makes of them.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tenon/aot/step_report.h"
#include "tenon/autodiff/functional.h"
#include "tenon/config/registry.h"
#include "tenon/experiments/austen.h"
#include "tenon/experiments/experiment.h"
#include "tenon/ir/ops.h"
#include "tenon/kernels/kernels.h"
#include "tenon/nn/causal_lm.h"
#include "tenon/pjrt/plugin.h"
#include "tenon/runtime/jit.h"

namespace tenon {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using Tensors = std::vector<Tensor>;

// The gradients of attention, of which the context has its query for a cotangent.
struct Use {
  DType dtype = DType::bf16;
  int64_t B = 4, N = 8, K = 2, T = 256, H = 64;
  AttentionOptions options{.scale = 0.125,
                           .pattern = {.causal = true, .segments = true},
                           .mask = {},
                           .block = 128,
                           .partition = {{"data", "fsdp"}, "model"}};
  bool documents = false;  // positions and segments come from the batch
  bool lse = false;        // lse has a cotangent too

  Program program(const Mesh& mesh = {}) const {
    const TensorType q{dtype, {B, N, T, H}}, k{dtype, {B, K, T, H}}, places{DType::i32, {B, T}};
    const std::vector<TensorType> types{q, k, k, places};
    Graph graph = make_graph(types, [&](const Tensors& t) {
      const Tensor positions = documents ? t[3] : iota(places, 1), segments = documents ? t[3] : zeros(places);
      const auto f = [&](const Tensors& x) {
        const AttentionResult r = attention({x[0], x[1], x[2], positions, positions, segments, segments}, options);
        return Tensors{r.context, r.lse};
      };
      const Vjp both = vjp(f, {t[0], t[1], t[2]}, {true, true, true});
      return both.pull({t[0], lse ? both.results[1] : Tensor()});
    });
    ProgramSpec spec;
    spec.mesh = mesh;
    spec.kernels = kernels_for("cuda");
    return make_program(graph, spec);
  }
  std::vector<std::string> choices() const {
    std::vector<std::string> out;
    for (const KernelChoice& choice : program().kernels) out.push_back(to_string(choice));
    return out;
  }
};

TEST(GpuKernels, CudnnTakesAttention) {
  EXPECT_THAT(Use{}.choices(), ElementsAre("attention by cudnn_attention", "attention_backward by cudnn_attention"));
  Use windowed;
  windowed.options.pattern.window = 64;
  EXPECT_THAT(windowed.choices(), Each(EndsWith("by cudnn_attention")));
  EXPECT_THAT(windowed.program().text, HasSubstr(R"(\22sliding_window_length\22:64)"));
  Use all;
  all.options.pattern = {};
  EXPECT_THAT(all.choices(), Each(EndsWith("by cudnn_attention")));
}

TEST(GpuKernels, CudnnRefusesWhatItCannotDo) {
  const auto refused = [](const Use& use, const std::string& why) {
    EXPECT_THAT(use.choices(), Each(HasSubstr("by ordinary ops (cudnn_attention: " + why))) << why;
    EXPECT_THAT(use.choices(), SizeIs(2));
  };
  refused({.dtype = DType::f32}, "takes f16 and bf16, not f32");
  refused({.H = 60}, "a head dim of 60");
  refused({.H = 256}, "a head dim of 256");
  refused({.T = 0}, "an array is empty");
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
  use = {};
  use.options.mask = [](const Tensor& queries, const Tensor& keys, const Tensor&, const Tensor&) {
    const Dims shape{queries.dim(0), queries.dim(1), keys.dim(1)};
    return less_equal(broadcast_to(expand_dims(keys, 1), shape), broadcast_to(expand_dims(queries, 2), shape));
  };
  refused(use, "the mask is a function it doesn't know");
  use = {.lse = true};
  EXPECT_THAT(use.choices(),
              ElementsAre("attention by cudnn_attention",
                          "attention_backward by ordinary ops (cudnn_attention: lse has a gradient too)"));
}

TEST(SlowGpuKernels, TheCompilerTakesThem) {
  if (const Result<std::string> plugin = pjrt::find_plugin("cuda"); !plugin) GTEST_SKIP() << plugin.error().what();
  Use windowed, all, half{.dtype = DType::f16, .K = 8, .H = 128};
  windowed.options.pattern.window = 64;
  all.options.pattern = {};
  for (const Use& use : {Use{}, windowed, all, half}) {
    EXPECT_GE(compile_aot(AotTarget::parse("h100:1"), Mesh(), use.program()).instructions.at("custom-call"), 2);
  }
  const Mesh mesh{{"data", 2}, {"model", 2}};
  const AotResult split = compile_aot(AotTarget::parse("h100:4"), mesh, Use{}.program(mesh));
  EXPECT_GE(split.instructions.at("custom-call"), 2);
}

TEST(SlowGpuKernels, AStepOfAusten) {
  if (const Result<std::string> plugin = pjrt::find_plugin("cuda"); !plugin) GTEST_SKIP() << plugin.error().what();
  register_everything(Registry::global());
  Trainer::Config config = Austen{}();
  config.mesh.fsdp = 2;
  config.mesh.model = 2;
  auto& model = config.model.as<CausalLm>();
  model.compute_dtype = DType::bf16;
  model.separate_documents = false;
  const StepReport report = compile_train_step(config, "h100:4");
  ASSERT_THAT(report.kernels, SizeIs(2));
  for (const KernelChoice& choice : report.kernels)
    EXPECT_EQ(choice.implementation, "cudnn_attention") << to_string(choice);
  EXPECT_TRUE(report.fits());
}

}  // namespace
}  // namespace tenon
