#include "tenon/runtime/executable.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "tenon/base/file.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/pjrt/plugin.h"
#include "tenon/runtime/jit.h"

namespace tenon {
namespace {

using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using ::testing::StartsWith;

// Clients are dear: one for each number of devices.
std::shared_ptr<const Backend> cpu(int devices) {
  static std::map<int, std::shared_ptr<const Backend>> backends;
  auto& backend = backends[devices];
  if (backend == nullptr) backend = Backend::open(devices == 1 ? "cpu" : fmt::format("cpu:{}", devices));
  return backend;
}

class OnCpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!pjrt::find_plugin("cpu")) GTEST_SKIP() << "no CPU plugin is installed";
  }
};

Literal ramp(const Dims& dims, double scale = 1) {
  std::vector<double> values(static_cast<size_t>(num_elements(dims)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = scale * static_cast<double>(i % 17);
  return Literal::from(DType::f32, dims, values);
}

// x [m,k] times w [k,n], in plain loops.
std::vector<double> matmul(const Literal& x, const Literal& w) {
  const int64_t m = x.dims()[0], k = x.dims()[1], n = w.dims()[1];
  std::vector<double> y(static_cast<size_t>(m * n), 0.0);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t p = 0; p < k; ++p)
        y[static_cast<size_t>(i * n + j)] += x.as_double(i * k + p) * w.as_double(p * n + j);
    }
  }
  return y;
}

const Mesh kMesh{{"fsdp", 2}, {"model", 2}};

// y = x w, w stored split both ways, y constrained; w is donated and comes back doubled.
Program sharded_matmul() {
  Program p;
  p.text = R"(module @step {
  sdy.mesh @mesh = <["fsdp"=2, "model"=2]>
  func.func public @main(
      %x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>},
      %w: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"model"}]>, tf.aliasing_output = 1 : i32})
      -> (tensor<8x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"model"}]>},
          tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {"model"}]>}) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"fsdp"}, {"model"}]> : tensor<8x32xf32>
    %2 = stablehlo.add %w, %w : tensor<16x32xf32>
    return %1, %2 : tensor<8x32xf32>, tensor<16x32xf32>
  } })";
  p.num_devices = 4;
  p.arg_types = {{DType::f32, {8, 16}}, {DType::f32, {16, 32}}};
  p.result_types = {{DType::f32, {8, 32}}, {DType::f32, {16, 32}}};
  p.arg_specs = {{"fsdp", {}}, {"fsdp", "model"}};
  p.result_specs = {{"fsdp", "model"}, {"fsdp", "model"}};
  p.arg_names = {"x", "decoder.weight"};
  p.donated = {1};
  return p;
}

// z = x + x on one device.
Program doubling(const std::string& attributes = "") {
  Program p;
  p.text = fmt::format(R"(module @double {{ func.func public @main(%x: tensor<3xf32> {}) -> tensor<3xf32> {{
    %0 = stablehlo.add %x, %x : tensor<3xf32>
    return %0 : tensor<3xf32> }} }})",
                       attributes);
  p.arg_types = p.result_types = {{DType::f32, {3}}};
  p.arg_specs = p.result_specs = {{}};
  return p;
}

TEST_F(OnCpu, OneDevice) {
  const Executable program = compile(cpu(1), Mesh(), doubling());
  const Array x = Array::from_literal(cpu(1), Mesh(), {}, Literal::from(DType::f32, {3}, std::vector<double>{1, 2, 4}));
  const Array args[] = {x};
  EXPECT_THAT(program(args)[0].to_literal().to_doubles(), ElementsAre(2, 4, 8));
  EXPECT_THAT(program(args)[0].to_literal().to_doubles(), ElementsAre(2, 4, 8));
  EXPECT_EQ(program.memory().argument, 12);
  EXPECT_EQ(program.memory().output, 12);
  EXPECT_GT(program.compile_seconds(), 0);
  EXPECT_FALSE(program.cache_hit());
}

// The same program and numbers on other devices: the plugin refuses buffers that lie on others than it was compiled
// for.
TEST_F(OnCpu, AnOuterPartChangesDevicesAlone) {
  const Mesh outer{{"fsdp", 2}, {"model", 2}, {"outer.model", 2}};
  const Literal x = ramp({8, 16}), w = ramp({16, 32}, 0.25);
  const Array ax = Array::from_literal(cpu(4), outer, {"fsdp"}, x);
  const Array aw = Array::from_literal(cpu(4), outer, {"fsdp", "model"}, w);
  const auto other = error_of([&] { compile(cpu(4), kMesh, sharded_matmul())(std::vector<Array>{ax, aw}); });
  EXPECT_THAT(other->what(), AllOf(HasSubstr("argument 0 (x)"), HasSubstr("outer.model=2")));
  const std::vector<Array> out = compile(cpu(4), outer, sharded_matmul())(std::vector<Array>{ax, aw});
  EXPECT_THAT(out[0].to_literal().to_doubles(), Pointwise(DoubleNear(1e-3), matmul(x, w)));
  for (int64_t i = 0; i < w.size(); ++i) ASSERT_EQ(out[1].to_literal().as_double(i), 2 * w.as_double(i));
}

TEST_F(OnCpu, ShardedMatmulOnFourDevices) {
  const Executable program = compile(cpu(4), kMesh, sharded_matmul());
  const Literal x = ramp({8, 16}), w = ramp({16, 32}, 0.25);
  const Array ax = Array::from_literal(cpu(4), kMesh, {"fsdp"}, x);
  const Array aw = Array::from_literal(cpu(4), kMesh, {"fsdp", "model"}, w);
  const Array aw_copy = aw;
  const std::vector<Array> out = program(std::vector<Array>{ax, aw});
  EXPECT_THAT(out[0].to_literal().to_doubles(), Pointwise(DoubleNear(1e-3), matmul(x, w)));
  for (int64_t i = 0; i < w.size(); ++i) ASSERT_EQ(out[1].to_literal().as_double(i), 2 * w.as_double(i));
  // A device holds a quarter of w; all of its output lies in the donated argument.
  EXPECT_EQ(program.memory().alias, 16 * 32 * 4 / 4);
  EXPECT_EQ(program.memory().argument, 8 * 16 * 4 / 2 + 16 * 32 * 4 / 4);
  EXPECT_TRUE(aw_copy.is_donated());
  const auto e = error_of([&] { program(std::vector<Array>{ax, aw_copy}); });
  EXPECT_EQ(e->code(), ErrorCode::wrong_context);
  EXPECT_THAT(e->what(), AllOf(HasSubstr("argument 1 (decoder.weight)"), HasSubstr("donated")));
  EXPECT_THROW((void)aw.to_literal(), Error);
  // Chained without waiting: the output of one call is the input of the next.
  const std::vector<Array> next = program(std::vector<Array>{ax, out[1]});
  EXPECT_EQ(next[1].to_literal().as_double(5), 4 * w.as_double(5));
}

TEST_F(OnCpu, ARefusedProgramNamesTheModule) {
  Program wrong = doubling();
  wrong.text = R"(module @m { func.func public @main(%x: tensor<3xf32>) -> tensor<3xf32> {
    %0 = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0] : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32> loc("decoder.layers.0::1.attention/dot_general")
    return %0 : tensor<3xf32> } })";
  const auto shapes = error_of([&] { compile(cpu(1), Mesh(), wrong); });
  EXPECT_EQ(shapes->code(), ErrorCode::compile);
  EXPECT_THAT(shapes->what(), StartsWith("compile at decoder.layers.0::1.attention/dot_general: "));

  const std::vector<TensorType> types{{DType::f32, {3}}};
  Graph graph = make_graph(types, [](const std::vector<Tensor>& x) {
    current_trace().set_path("decoder.norm");
    return std::vector<Tensor>{exp(x[0])};
  });
  Program unknown = make_program(graph);
  const size_t at = unknown.text.find("stablehlo.exponential %arg0 : tensor<3xf32>");
  ASSERT_NE(at, std::string::npos) << unknown.text;
  unknown.text.replace(at, 43,
                       "stablehlo.custom_call @nobody(%arg0) {api_version = 4 : i32, backend_config = {}} : "
                       "(tensor<3xf32>) -> tensor<3xf32>");
  EXPECT_THAT(error_of([&] { compile(cpu(1), Mesh(), unknown); })->what(), HasSubstr(" at decoder.norm/exp: "));
}

TEST_F(OnCpu, WarningsNameTheModule) {
  const Mesh mesh{{"data", 2}, {"fsdp", 2}, {"model", 2}};
  ProgramSpec spec;
  spec.mesh = mesh;
  spec.param_specs = {{"model", {}, Axis({"data", "fsdp"})}};
  spec.result_specs = {{{}, Axis({"data", "fsdp", "model"})}};
  const std::vector<TensorType> types{{DType::f32, {16, 16, 16}}};
  Graph graph = make_graph(types, [&](const std::vector<Tensor>& x) {
    current_trace().set_path("decoder.norm");
    return std::vector<Tensor>{shard(x[0] + x[0], spec.result_specs[0])};
  });
  const Executable program = compile(cpu(8), mesh, make_program(graph, spec));
  ASSERT_FALSE(program.warnings().empty());
  EXPECT_EQ(program.warnings()[0].op, "decoder.norm/add");
  EXPECT_THAT(program.warnings()[0].text, HasSubstr("every device gets the whole of f32["));
}

TEST_F(OnCpu, WrongArgumentsAreNamed) {
  const Executable program = compile(cpu(4), kMesh, sharded_matmul());
  const Array x = Array::from_literal(cpu(4), kMesh, {"fsdp"}, ramp({8, 16}));
  const Array w = Array::from_literal(cpu(4), kMesh, {"fsdp", "model"}, ramp({16, 32}));
  EXPECT_EQ(error_of([&] { program(std::vector<Array>{x}); })->code(), ErrorCode::invalid_argument);
  const Array short_w = Array::from_literal(cpu(4), kMesh, {"fsdp", "model"}, ramp({16, 30}));
  EXPECT_THAT(error_of([&] { program(std::vector<Array>{x, short_w}); })->what(),
              AllOf(HasSubstr("shape_mismatch"), HasSubstr("argument 1 (decoder.weight)"), HasSubstr("f32[16,30]"),
                    HasSubstr("f32[16,32]")));
  const Array whole_w = Array::from_literal(cpu(4), kMesh, {}, ramp({16, 32}));
  EXPECT_THAT(error_of([&] { program(std::vector<Array>{x, whole_w}); })->what(),
              AllOf(HasSubstr("mesh_mismatch"), HasSubstr("argument 1"), HasSubstr("\"fsdp,model\"")));
  const Array other = Array::from_literal(cpu(1), Mesh(), {}, ramp({8, 16}));
  EXPECT_THAT(error_of([&] { program(std::vector<Array>{other, w}); })->what(), HasSubstr("another backend"));
  EXPECT_THAT(error_of([&] { program(std::vector<Array>{Array(), w}); })->what(), HasSubstr("argument 0 (x)"));
  EXPECT_FALSE(w.is_donated());
}

TEST_F(OnCpu, ADonatedArrayCanBeGivenOnce) {
  Program p = doubling();
  p.text = R"(module @m { func.func public @main(%x: tensor<3xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<3xf32>)
      -> tensor<3xf32> { %0 = stablehlo.add %x, %y : tensor<3xf32>
      return %0 : tensor<3xf32> } })";
  p.arg_types = {{DType::f32, {3}}, {DType::f32, {3}}};
  p.arg_specs = {{}, {}};
  p.donated = {0};
  const Executable program = compile(cpu(1), Mesh(), p);
  const Array x = Array::from_literal(cpu(1), Mesh(), {}, ramp({3}));
  EXPECT_THAT(error_of([&] { program(std::vector<Array>{x, x}); })->what(), HasSubstr("only once"));
  EXPECT_FALSE(x.is_donated());
}

TEST_F(OnCpu, ProgramsThatDoNotFit) {
  Program p = sharded_matmul();
  EXPECT_EQ(error_of([&] { compile(cpu(1), kMesh, p); })->code(), ErrorCode::mesh_mismatch);
  EXPECT_EQ(error_of([&] { compile(cpu(4), Mesh(), p); })->code(), ErrorCode::mesh_mismatch);
  p.arg_types[1].dims = {15, 32};
  EXPECT_THAT(error_of([&] { compile(cpu(4), kMesh, p); })->what(),
              AllOf(HasSubstr("argument 1 (decoder.weight)"), HasSubstr("15 over 2")));
  p = sharded_matmul();
  p.result_specs[0] = {"fsdp"};
  EXPECT_THAT(error_of([&] { compile(cpu(4), kMesh, p); })->what(),
              AllOf(HasSubstr("result 0"), HasSubstr("f32[4,16] on each device"), HasSubstr("f32[4,32]")));
  p = sharded_matmul();
  p.donated = {2};
  EXPECT_EQ(error_of([&] { compile(cpu(4), kMesh, p); })->code(), ErrorCode::invalid_argument);
}

TEST_F(OnCpu, TheCompilersWordsAreKept) {
  Program p = doubling();
  p.text = "module @m { func.func public @main( }";
  const auto e = error_of([&] { compile(cpu(1), Mesh(), p); });
  EXPECT_EQ(e->code(), ErrorCode::compile);
  EXPECT_THAT(e->what(), HasSubstr("expected non-function type"));
  p = doubling();
  p.compile_options = {{"xla_no_such_flag", "1"}};
  EXPECT_THAT(error_of([&] { compile(cpu(1), Mesh(), p); })->what(), HasSubstr("xla_no_such_flag"));
}

TEST_F(OnCpu, FlagsOfEveryTypeAreTaken) {
  Program p = doubling();
  p.compile_options = {{"xla_cpu_enable_fast_math", "false"},
                       {"xla_cpu_parallel_codegen_split_count", "4"},
                       {"xla_disable_hlo_passes", "algsimp"},
                       {"xla_cpu_enable_concurrency_optimized_scheduler", "true"}};
  EXPECT_NO_THROW(compile(cpu(1), Mesh(), p));
  p.compile_options = {{"xla_cpu_enable_fast_math", "maybe"}};
  EXPECT_EQ(error_of([&] { compile(cpu(1), Mesh(), p); })->code(), ErrorCode::compile);
}

class WithCache : public OnCpu {
 protected:
  void SetUp() override {
    OnCpu::SetUp();
    folder_ = (std::filesystem::temp_directory_path() / ("tenon_cache_" + random_suffix())).string();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  // The one entry.
  std::string entry() const {
    const std::vector<std::string> names = list_dir(folder_).value();
    EXPECT_EQ(names.size(), 1U);
    return join_path(folder_, names.at(0));
  }
  std::string folder_;
};

TEST_F(WithCache, SecondCompileLoads) {
  const CompileCache cache(folder_);
  EXPECT_FALSE(compile(cpu(4), kMesh, sharded_matmul(), &cache).cache_hit());
  const Executable loaded = compile(cpu(4), kMesh, sharded_matmul(), &cache);
  EXPECT_TRUE(loaded.cache_hit());
  EXPECT_EQ(loaded.memory().alias, 16 * 32 * 4 / 4);
  const Literal x = ramp({8, 16}), w = ramp({16, 32});
  for (int repeat = 0; repeat < 3; ++repeat) {
    const std::vector<Array> out = loaded(std::vector<Array>{Array::from_literal(cpu(4), kMesh, {"fsdp"}, x),
                                                             Array::from_literal(cpu(4), kMesh, {"fsdp", "model"}, w)});
    EXPECT_THAT(out[0].to_literal().to_doubles(), Pointwise(DoubleNear(1e-3), matmul(x, w)));
  }
}

TEST_F(WithCache, AnotherProgramOrFlagIsAnotherEntry) {
  const CompileCache cache(folder_);
  Program p = doubling();
  EXPECT_FALSE(compile(cpu(1), Mesh(), p, &cache).cache_hit());
  p.compile_options = {{"xla_cpu_enable_fast_math", "true"}};
  EXPECT_FALSE(compile(cpu(1), Mesh(), p, &cache).cache_hit());
  EXPECT_EQ(list_dir(folder_).value().size(), 2U);
}

TEST_F(WithCache, DamagedEntriesAreDroppedAndReplaced) {
  const CompileCache cache(folder_);
  const auto hit = [&] { return compile(cpu(1), Mesh(), doubling(), &cache).cache_hit(); };
  EXPECT_FALSE(hit());
  const std::string good = read_file(entry()).value();
  for (const std::string& bad : {std::string(), good.substr(0, 40), good.substr(0, good.size() - 1), good + "x",
                                 good.substr(0, good.size() / 2) + "!" + good.substr(good.size() / 2 + 1)}) {
    ASSERT_TRUE(write_file_atomic(entry(), bad).ok());
    EXPECT_FALSE(hit());
    EXPECT_NE(read_file(entry()).value(), bad);
    EXPECT_TRUE(hit());
  }
}

TEST_F(WithCache, AFolderThatCannotBeWrittenOnlyCostsTime) {
  std::ofstream(folder_) << "a file where the folder should be";
  const CompileCache cache(folder_);
  EXPECT_FALSE(compile(cpu(1), Mesh(), doubling(), &cache).cache_hit());
  EXPECT_FALSE(compile(cpu(1), Mesh(), doubling(), &cache).cache_hit());
}

}  // namespace
}  // namespace tenon
