// The very training step of an experiment, compiled for machines that aren't here.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "count_instructions.h"
#include "tenon/aot/step_report.h"
#include "tenon/config/registry.h"
#include "tenon/experiments/austen.h"
#include "tenon/experiments/experiment.h"
#include "tenon/experiments/llama.h"
#include "tenon/experiments/qwen3_moe.h"
#include "tenon/experiments/resolve.h"
#include "tenon/inference/load_model.h"
#include "tenon/ir/ops.h"
#include "tenon/pjrt/plugin.h"
#include "tenon/runtime/jit.h"
#include "tenon/text/byte_vocab.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

constexpr int64_t kDevices = 4;

// Bytes of the state, f32, before any sharding or padding, counted by hand from the arguments: Muon keeps one array for
// each of the layers' matrices, AdamW two for each of the others.
int64_t state_bytes(const Austen& a) {
  const int64_t attention = 4 * a.model_dim * a.model_dim, feed_forward = 3 * a.model_dim * a.hidden_dim;
  const int64_t matrices = a.num_layers * (attention + feed_forward);
  const int64_t others = kByteVocabSize * a.model_dim + (2 * a.num_layers + 1) * a.model_dim;  // embedding, norms
  return (2 * matrices + 3 * others) * static_cast<int64_t>(sizeof(float));
}

struct Machine {
  const char *target, *kind, *name;
  double padding;  // arguments may take so many times their bytes
};
void PrintTo(const Machine& machine, std::ostream* out) { *out << machine.target; }

class SlowTrainStep : public ::testing::TestWithParam<Machine> {
 protected:
  void SetUp() override {
    const Result<std::string> plugin = pjrt::find_plugin(AotTarget::parse(GetParam().target).platform);
    if (!plugin) GTEST_SKIP() << plugin.error().what();
    register_everything(Registry::global());
  }
};

TEST_P(SlowTrainStep, OfAustenIsShardedAndDonated) {
  static_assert(kByteVocabSize % 2 == 1, "a vocabulary that no mesh divides");
  const Austen args;
  Trainer::Config config = args();
  config.mesh.fsdp = 2;
  config.mesh.model = 2;
  const StepReport report = compile_train_step(config, GetParam().target);
  std::cout << format_report(report) << "\n";

  EXPECT_EQ(report.mesh.num_devices(), kDevices);
  EXPECT_THAT(report.compiled->device_kind, HasSubstr(GetParam().kind));
  const pjrt::MemoryStats& memory = report.compiled->memory;
  const int64_t quarter = state_bytes(args) / kDevices;
  // All that is large is cut in four, the vocabulary too: replicating it would take 12 % more. TPUs pad rows to 128
  // elements, and half of model_dim is 64.
  EXPECT_GE(memory.argument, quarter);
  EXPECT_LE(static_cast<double>(memory.argument), GetParam().padding * static_cast<double>(quarter));
  // The state takes its own place, all of it.
  EXPECT_GE(memory.alias, quarter);
  EXPECT_LT(memory.output - memory.alias, 16 * 1024);
  EXPECT_LT(memory.argument - memory.alias, 64 * 1024);  // batch, seed, step, scalars
  EXPECT_GT(memory.temporary, 0);
  EXPECT_GE(memory.peak, memory.argument);
  EXPECT_LE(memory.peak, memory.total());
  EXPECT_TRUE(report.fits());
  // Parameters are gathered over fsdp, activations summed over model.
  std::vector<std::string> moved;
  for (const CollectiveTotal& t : report.collectives.value().totals) moved.push_back(t.kind + " over " + t.axes);
  EXPECT_THAT(moved, IsSupersetOf({"all-gather over fsdp", "all-reduce over model"}));
}

// AdamW's moments leave the device, but for those of the layer whose turn it is.
TEST_P(SlowTrainStep, OfLlamaWithItsOptimizersStateInHostMemory) {
  ExperimentRegistry experiments;
  register_llama(experiments);
  Overrides overrides{.assignments = {"args.num_layers=8", "args.model_dim=512", "args.hidden_dim=2048",
                                      "args.num_heads=4", "args.fsdp=4", "args.sequence_length=256"}};
  const auto compiled = [&] {
    const StepReport report =
        compile_train_step(resolve(experiments.find("llama2_test"), overrides).config, GetParam().target);
    std::cout << format_report(report) << "\n";
    return report;
  };
  const StepReport on_device = compiled();
  overrides.modifiers = {"OffloadOptimizerState"};
  const StepReport offloaded = compiled();
  // Two moments of each parameter: 8 layers of 4 projections, 2 of them for half as many heads, and a gated
  // feed-forward, embedding and head.
  const int64_t moments = 2 * 4 * (8 * (2 * 512 * (512 + 256) + 3 * 512 * 2048) + 2 * 259 * 512) / kDevices;
  EXPECT_EQ(on_device.host_bytes, 0);
  EXPECT_NEAR(static_cast<double>(offloaded.host_bytes), static_cast<double>(moments), 0.02 * moments);
  const int64_t fewer_arguments = on_device.compiled->memory.argument - offloaded.compiled->memory.argument;
  EXPECT_GE(fewer_arguments, moments);
  // One layer of eight, and twice that: while one comes another goes.
  EXPECT_LE(offloaded.compiled->memory.temporary - on_device.compiled->memory.temporary, moments / 4);
  EXPECT_LE(offloaded.compiled->memory.total(), on_device.compiled->memory.total() - moments * 3 / 4);
  EXPECT_LT(offloaded.compiled->memory.output - offloaded.compiled->memory.alias, 16 * 1024)
      << "it takes its own place";
}

INSTANTIATE_TEST_SUITE_P(Machines, SlowTrainStep,
                         ::testing::Values(Machine{"v5p:2x2x1", "TPU v5", "V5p", 2},
                                           Machine{"h100:4", "H100", "H100", 1.02}),
                         [](const auto& machine) { return machine.param.name; });

// A layer's tokens go to their experts and back, forward and backward: four in the bodies of the two loops.
TEST(SlowMixtureStep, TokensMoveByAllToAll) {
  if (const Result<std::string> plugin = pjrt::find_plugin("tpu"); !plugin) GTEST_SKIP() << plugin.error().what();
  register_everything(Registry::global());
  ExperimentRegistry experiments;
  register_qwen3_moe(experiments);
  const Overrides overrides{
      .assignments = {"args.expert=2", "args.fsdp=2", "args.model_dim=128", "args.sequence_length=256"}};
  const Resolved resolved = resolve(experiments.find("qwen3_moe_test"), overrides);
  const StepReport report = compile_train_step(resolved.config, "v5p:2x2x1");
  const AotResult& compiled = report.compiled.value();
  EXPECT_EQ(count_instructions(compiled, "all-to-all") + count_instructions(compiled, "all-to-all-start"), 4)
      << format_report(report);
}

// Layers written out and no kernels: libtpu counts a loop's body once, and of a kernel nothing. Short sequences:
// without loops it merges the scores that attention's backward pass computes again with the first ones, which we count
// twice.
TEST(SlowFlops, AreWhatTheCompilerCounts) {
  if (const Result<std::string> plugin = pjrt::find_plugin("tpu"); !plugin) GTEST_SKIP() << plugin.error().what();
  register_everything(Registry::global());
  ExperimentRegistry experiments;
  register_experiments(experiments);
  const Overrides overrides{.assignments = {"args.num_layers=2", "args.model_dim=512", "args.num_heads=4",
                                            "args.num_kv_heads=4", "args.hidden_dim=1536", "args.batch_size=16",
                                            "args.sequence_length=128", "args.vocab_size=2048", "args.loss_chunks=1",
                                            "args.fsdp=1", "kernels.disable=[\"attention\", \"attention_backward\"]"}};
  Trainer::Config config = resolve(experiments.find("llama2_test"), overrides).config;
  unroll_decoders(config);
  const StepReport report = compile_train_step(config, "v5p:1x1x1");
  const double theirs = report.compiled->cost.at("flops");
  std::cout << "our count " << report.flops.total << ", libtpu's " << theirs << "\n";
  EXPECT_NEAR(report.flops.total, theirs, 0.01 * theirs);
}

// What libtpu lets a program use is what the chip table says.
TEST(SlowChips, TpuMemoryIsWhatTheCompilerSays) {
  if (const Result<std::string> plugin = pjrt::find_plugin("tpu"); !plugin) GTEST_SKIP() << plugin.error().what();
  const std::vector<TensorType> terabyte{{DType::f32, {1 << 30, 256}}};
  for (const char* target : {"v4:2x2x1", "v5e:2x2", "v5p:2x2x1", "v6e:2x2", "tpu7x:2x2x1"}) {
    const AotTarget machine_name = AotTarget::parse(target);
    const AotMachine machine = AotMachine::open(machine_name);
    ProgramSpec spec;
    spec.mesh = Mesh{{"data", machine.num_devices()}};
    Graph graph = make_graph(terabyte, [](const std::vector<Tensor>& x) { return std::vector<Tensor>{x[0] + x[0]}; });
    const double gib =
        static_cast<double>(ChipTable::builtin().find(machine_name.name).memory_bytes) / (int64_t{1} << 30);
    try {
      machine.compile(spec.mesh, make_program(graph, spec));
      ADD_FAILURE() << target << " takes a terabyte";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::out_of_memory) << e.what();
      EXPECT_THAT(e.what(), HasSubstr(fmt::format("available HBM ({:.2f}G)", gib)));
    }
  }
}

}  // namespace
}  // namespace tenon
