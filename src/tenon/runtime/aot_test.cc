#include "tenon/runtime/aot.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tenon/autodiff/functional.h"
#include "tenon/autodiff/remat.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/pjrt/plugin.h"
#include "tenon/runtime/gpu_targets.h"
#include "tenon/runtime/jit.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

TEST(AotTarget, Parses) {
  EXPECT_EQ(AotTarget::parse("v5p:2x2x1"), (AotTarget{"tpu", "v5p", "2x2x1", 1, 4, 0, 4}));
  EXPECT_EQ(AotTarget::parse("v5p:8x8x4*3"), (AotTarget{"tpu", "v5p", "8x8x4", 3, 768, 0, 256}));
  EXPECT_EQ(AotTarget::parse("tpu7x:2x2x1"), (AotTarget{"tpu", "tpu7x", "2x2x1", 1, 8, 0, 8}));
  EXPECT_EQ(AotTarget::parse("v6e:4x4"), (AotTarget{"tpu", "v6e", "4x4", 1, 16, 0, 16}));
  EXPECT_EQ(AotTarget::parse("h100:4"), (AotTarget{"cuda", "h100", "1x1x4", 1, 4, 4, 4}));
  EXPECT_EQ(AotTarget::parse("h200:32"), (AotTarget{"cuda", "h200", "1x4x8", 1, 32, 8, 8}));
  EXPECT_EQ(AotTarget::parse("h100:32x8"), (AotTarget{"cuda", "h100", "1x32x8", 1, 256, 8, 8}));
  EXPECT_EQ(AotTarget::parse("h100:3x4"), (AotTarget{"cuda", "h100", "1x3x4", 1, 12, 4, 4}));
  EXPECT_EQ(AotTarget::parse("mi300x:2x8").platform, "rocm");
  EXPECT_EQ(AotTarget::parse("trn2:64x16"), (AotTarget{"neuron", "trn2", "1x64x16", 1, 1024, 16, 16}));
  EXPECT_EQ(AotTarget::parse("cpu:8"), (AotTarget{"cpu", "cpu", "1x1x8", 1, 8, 8, 8}));
  EXPECT_EQ(AotTarget::parse("cpu").num_devices, 1);
  for (const char* bad :
       {"v5p", "v5p:", "v5p:2x", "v5p:2", "v5p:0x2", "v5p:2x2x1*0", "v5p:2x2x1*", "v5p:2x2x2x2", "h100:0", "h100:12",
        "h100:x", "h100:2x16", "h100:2x2x2", "h100:2*2", "h100:99999999", "h100", "cpu:0", "cpu:x", "cpu:"}) {
    try {
      AotTarget::parse(bad);
      ADD_FAILURE() << bad;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument) << bad;
    }
  }
  for (const char* unknown : {"h1000:4", "v5q:2x2", "", ":4"}) {
    try {
      AotTarget::parse(unknown);
      ADD_FAILURE() << unknown;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::unknown_name);
      EXPECT_THAT(e.what(), HasSubstr("a100, b200, h100, h200, mi300x, tpu7x, trn2, v4"));
      EXPECT_THAT(e.what(), HasSubstr("v6e, cpu"));
    }
  }
}

TEST(AotTarget, SaysWhatAHostHas) {
  const auto told = [](const char* text) {
    const auto error = error_of([&] { AotTarget::parse(text); });
    return error ? std::string(error->what()) : "";
  };
  EXPECT_EQ(told("h100:32x9"),
            "invalid_argument at --target: hosts of this kind have 8 devices (got \"h100:32x9\", expected at most 8 "
            "devices of each host)");
  EXPECT_THAT(told("h100:12"), HasSubstr("expected up to 8, or a multiple of it; or hosts x devices, as 2x8"));
  EXPECT_THAT(told("cpuu:1"), HasSubstr("did you mean cpu?"));
}

TEST(AotTarget, TakesOuterPartsThatAreWholeNodesOrLieWithinOne) {
  const auto check = [](const char* target, int64_t devices, int64_t parts) {
    return error_of([&] { AotTarget::parse(target).check_outer(Mesh{{"fsdp", devices}, {"outer.fsdp", parts}}); });
  };
  for (const int64_t parts : {1, 2, 4, 8, 32}) EXPECT_FALSE(check("h100:4x8", 32, parts)) << parts;
  for (const int64_t parts : {1, 2, 8}) EXPECT_FALSE(check("h100:8", 8, parts)) << parts;
  EXPECT_FALSE(check("v5p:2x2x1*3", 12, 3));
  const auto nodes = check("h100:3x4", 12, 2), slices = check("v5p:2x2x1*3", 12, 4);
  ASSERT_TRUE(nodes && slices);
  EXPECT_EQ(nodes->code(), ErrorCode::mesh_mismatch);
  EXPECT_EQ(nodes->path(), "mesh.outer");
  EXPECT_THAT(nodes->what(),
              HasSubstr("got mesh fsdp=12,outer.fsdp=2: 2 parts, expected 3, as many as there are nodes"));
  EXPECT_THAT(slices->what(), HasSubstr("expected 3, as many as there are slices"));
}

TEST(AotTarget, HasFewerSlicesThanEndTheCompiler) {
  EXPECT_EQ(AotTarget::parse("v5p:2x2x1*511").num_devices, 4 * 511);
  const auto error = error_of([] { AotTarget::parse("v5p:2x2x1*512"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::unsupported);
  EXPECT_THAT(error->what(), HasSubstr("at most 511"));
}

// Of each generation the largest that Google Cloud states.
TEST(AotTarget, HasNoSliceLargerThanAPod) {
  for (const char* pod : {"v4:16x16x16", "v5e:16x16", "v5p:16x20x28*2", "v6e:16x16", "tpu7x:16x24x24"}) {
    EXPECT_FALSE(error_of([&] { AotTarget::parse(pod); })) << pod;
  }
  EXPECT_EQ(AotTarget::parse("v5p:16x20x28").num_devices, 8960);
  for (const char* larger : {"v4:16x16x20", "v5e:16x32", "v5p:20x20x28", "v6e:1x257", "tpu7x:24x24x24"}) {
    const auto error = error_of([&] { AotTarget::parse(larger); });
    ASSERT_TRUE(error) << larger;
    EXPECT_EQ(error->code(), ErrorCode::invalid_argument) << larger;
  }
  const auto error = error_of([] { AotTarget::parse("v5p:1024x1024"); });
  ASSERT_TRUE(error);
  EXPECT_STREQ(error->what(),
               "invalid_argument at --target: there is no slice of so many v5p chips (got \"v5p:1024x1024\": 1048576 "
               "chips, expected at most 8960). Hint: of several slices say the chips of one and how many, as "
               "v5p:2x2x1*4");
}

TEST(AotTarget, ShowsTextThatIsNotOneInQuotes) {
  const auto error = error_of([] { AotTarget::parse("v5p:2x\n2"); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), HasSubstr("got \"v5p:2x\\x0a2\""));
  const auto kind = error_of([] { gpu_target_config("h1\x1b"); });
  ASSERT_TRUE(kind);
  EXPECT_THAT(kind->what(), HasSubstr("called \"h1\\x1b\""));
}

TEST(AotTarget, LinksOfATorus) {
  EXPECT_EQ(AotTarget::parse("v5p:4x4x4").num_links(), 6);
  EXPECT_EQ(AotTarget::parse("v5p:2x2x1").num_links(), 2);
  EXPECT_EQ(AotTarget::parse("v5p:1x1x1").num_links(), 1);
  EXPECT_EQ(AotTarget::parse("v6e:16x16").num_links(), 4);
  EXPECT_EQ(AotTarget::parse("h100:32x8").num_links(), 1);
}

TEST(AotMachine, NoPluginForAChip) {
  try {
    AotMachine::open(AotTarget::parse("trn2:64x16"));
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unsupported);
    EXPECT_THAT(e.hint(), HasSubstr("--analytic"));
  }
}

TEST(GpuTarget, DescribesTheKind) {
  EXPECT_THAT(gpu_target_config("a100"), HasSubstr("cuda_compute_capability { major: 8 feature_extension: NONE }"));
  EXPECT_THAT(gpu_target_config("b200"), HasSubstr("core_count: 148"));
  EXPECT_THAT(gpu_target_config("h100"), HasSubstr("name: \"NVIDIA H100 80GB HBM3\""));
  EXPECT_THAT(gpu_target_config("h100"),
              HasSubstr("cuda_compute_capability { major: 9 feature_extension: ACCELERATED_FEATURES }"));
  EXPECT_THAT(gpu_target_config("mi300x"), AllOf(HasSubstr("rocm_compute_capability { gcn_arch_name: \"gfx942"),
                                                 HasSubstr("platform_name: \"ROCM\"")));
  EXPECT_THAT(gpu_target_config("h200"), HasSubstr("device_memory_size: 141000000000"));
}

// w -= 0.1 * x^T x w, split over fsdp and model, with w donated.
Program step() {
  Program p;
  p.text = R"(module @step {
  sdy.mesh @mesh = <["fsdp"=2, "model"=2]>
  func.func public @main(
      %x: tensor<256x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>},
      %w: tensor<512x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"model"}]>, tf.aliasing_output = 0 : i32})
      -> (tensor<512x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"model"}]>}) {
    %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<256x512xf32>, tensor<512x1024xf32>) -> tensor<256x1024xf32>
    %g = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<256x512xf32>, tensor<256x1024xf32>) -> tensor<512x1024xf32>
    %s = stablehlo.constant dense<1.000000e-01> : tensor<512x1024xf32>
    %d = stablehlo.multiply %g, %s : tensor<512x1024xf32>
    %n = stablehlo.subtract %w, %d : tensor<512x1024xf32>
    return %n : tensor<512x1024xf32>
  } })";
  p.num_devices = 4;
  p.arg_types = {{DType::f32, {256, 512}}, {DType::f32, {512, 1024}}};
  p.result_types = {{DType::f32, {512, 1024}}};
  p.arg_specs = {{"fsdp"}, {"fsdp", "model"}};
  p.result_specs = {{"fsdp", "model"}};
  p.donated = {1};
  return p;
}

// A quarter of w, padded at most to the machine's tiles.
void expect_sharded(const AotResult& result) {
  const int64_t shard = int64_t{512} * 1024 * 4 / 4;
  EXPECT_GE(result.memory.alias, shard);
  EXPECT_LE(result.memory.alias, shard + shard / 8);
  EXPECT_GE(result.memory.argument, shard + int64_t{256} * 512 * 4 / 2);
  EXPECT_GT(result.seconds, 0);
  EXPECT_GE(result.memory.peak, result.memory.argument);
  ASSERT_TRUE(result.optimized);
  const auto& entry = result.optimized->computations[result.optimized->entry].instructions;
  const auto is_parameter = [](const pjrt::HloInstruction& i) { return i.opcode == "parameter"; };
  EXPECT_EQ(std::count_if(entry.begin(), entry.end(), is_parameter), 2);
}

TEST(SlowAot, CompilesForTpusThatAreNotHere) {
  if (const auto plugin = pjrt::find_plugin("tpu"); !plugin) GTEST_SKIP() << plugin.error().what();
  const Mesh mesh{{"fsdp", 2}, {"model", 2}};
  const AotResult result = compile_aot(AotTarget::parse("v5p:2x2x1"), mesh, step());
  expect_sharded(result);
  EXPECT_THAT(result.device_kind, HasSubstr("TPU v5"));
  EXPECT_GT(result.cost.at("flops"), 0);
  const AotMachine machine = AotMachine::open(AotTarget::parse("v6e:2x4"));
  EXPECT_EQ(machine.num_devices(), 8);
  EXPECT_THROW(machine.compile(mesh, step()), Error);
}

TEST(SlowAot, CompilesForGpusThatAreNotHere) {
  if (const auto plugin = pjrt::find_plugin("cuda"); !plugin) GTEST_SKIP() << plugin.error().what();
  const AotResult result = compile_aot(AotTarget::parse("h100:4"), Mesh{{"fsdp", 2}, {"model", 2}}, step());
  expect_sharded(result);
  EXPECT_THAT(result.device_kind, HasSubstr("H100"));
}

// The gradient of 32 layers in a loop, [1024,1024] each, under a remat policy.
Program looped_gradient(const RematPolicy& policy, const Mesh& mesh) {
  const std::vector<TensorType> types{{DType::f32, {1024, 1024}}, {DType::f32, {32, 1024, 1024}}};
  Graph graph = make_graph(types, [&](const std::vector<Tensor>& in) {
    const auto loss = [&](const std::vector<Tensor>& p) {
      const auto layer = [&](const Tensor&, const Tensor& h, const Tensor& w) {
        const RematScope scope(policy);
        return std::pair<Tensor, std::vector<Tensor>>(tanh(tag(matmul(h, w), "hidden")), {});
      };
      const Tensor last = scan(layer, p[0], p[1]).first;
      return sum_all(last * last);
    };
    return grad(loss, in);
  });
  ProgramSpec spec;
  spec.mesh = mesh;
  spec.param_specs = {{"fsdp"}, {{}, "fsdp"}};
  spec.result_specs = spec.param_specs;
  return make_program(graph, spec);
}

// Kept on the host, at least `share` of the stack of hidden values isn't among the device's temporaries.
void expect_offloaded(const std::string& target, const Mesh& mesh, double share) {
  const AotMachine machine = AotMachine::open(AotTarget::parse(target));
  const auto memory = [&](const RematPolicy& policy) {
    return machine.compile(mesh, looped_gradient(policy, mesh)).memory;
  };
  const pjrt::MemoryStats device = memory(SaveTags{.device = {"hidden"}}), host = memory(SaveTags{.host = {"hidden"}});
  const int64_t stack = int64_t{32} * 1024 * 1024 * 4 / mesh.num_devices();
  const auto saved = static_cast<double>(device.temporary - host.temporary);
  EXPECT_EQ(device.host_temporary, 0) << target;
  EXPECT_GE(host.host_temporary, stack) << target;
  EXPECT_GE(saved, share * static_cast<double>(stack)) << target;
}

TEST(Aot, SlowHostOffloadOnTpus) {
  if (!pjrt::find_plugin("tpu")) GTEST_SKIP() << "libtpu isn't installed";
  expect_offloaded("v5p:1x1x1", Mesh(), 0.9);
  expect_offloaded("v5p:2x2x1", Mesh{{"fsdp", 4}}, 0.3);  // 14 of 34 MB; why not all isn't known
}

TEST(Aot, SlowHostOffloadOnGpus) {
  if (!pjrt::find_plugin("cuda")) GTEST_SKIP() << "the CUDA plugin isn't installed";
  expect_offloaded("h100:1", Mesh(), 0.9);
  expect_offloaded("h100:4", Mesh{{"fsdp", 4}}, 0.9);
}

// On virtual devices of this machine; the program comes back from the file and from no other's key.
TEST(Aot, CompilesForTheCpu) {
  if (!pjrt::find_plugin("cpu")) GTEST_SKIP() << "no CPU plugin is installed";
  const AotMachine machine = AotMachine::open(AotTarget::parse("cpu:4"));
  const Mesh mesh{{"fsdp", 2}, {"model", 2}};
  const AotResult result = machine.compile(mesh, step(), true);
  expect_sharded(result);
  ASSERT_TRUE(result.optimized.has_value());
  const pjrt::HloComputation& entry = result.optimized->computations[result.optimized->entry];
  int64_t arguments = 0;
  for (const pjrt::HloInstruction& i : entry.instructions) {
    if (i.opcode == "parameter") arguments += i.shape.bytes();
  }
  EXPECT_EQ(arguments, result.memory.argument);
  const std::string path = ::testing::TempDir() + "/aot_program";
  ASSERT_TRUE(result.saved->write(path).ok());
  EXPECT_EQ(SavedProgram::read(path, machine.key(mesh, step())).value().bytes, result.saved->bytes);
  Program other = step();
  other.compile_options["xla_cpu_enable_fast_math"] = "true";
  EXPECT_EQ(SavedProgram::read(path, machine.key(mesh, other)).error().code(), ErrorCode::incompatible);
  // The text is the same, but its devices are in another order.
  const Mesh outer{{"fsdp", 2}, {"model", 2}, {"outer.model", 2}};
  EXPECT_EQ(SavedProgram::read(path, machine.key(outer, step())).error().code(), ErrorCode::incompatible);
  const auto other_machine = error_of([&] { AotMachine::open(AotTarget::parse("cpu:2")).key(mesh, step()); });
  ASSERT_TRUE(other_machine);
  EXPECT_EQ(other_machine->code(), ErrorCode::mesh_mismatch);
}

TEST(Aot, TheCpuHasNoMachinesToDescribe) {
  if (!pjrt::find_plugin("cpu")) GTEST_SKIP() << "no CPU plugin is installed";
  const Result<pjrt::Topology> none = pjrt::Topology::create(pjrt::Plugin::open("cpu").value(), "cpu:4");
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().what(), HasSubstr("plugin"));
}

}  // namespace
}  // namespace tenon
