// The kernel that docs/adding_a_kernel.md adds, here outside the tables. The guide quotes this file; the last test
// compares.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/autodiff/testing/check_gradients.h"
#include "tenon/base/file.h"
#include "tenon/ir/cases/op_cases.h"
#include "tenon/ir/interpreter.h"
#include "tenon/ir/kernel.h"
#include "tenon/ir/ops.h"
#include "tenon/kernels/cpu/ffi_support.h"
#include "tenon/pjrt/ffi.h"
#include "tenon/runtime/jit.h"

namespace tenon {
namespace {

// ── the op ──
std::vector<Tensor> vjp_swiglu(const VjpArgs& a) {
  const Tensor &gate = a.operand(0), &up = a.operand(1), &ct = a.cotangent();
  const Tensor open = logistic(gate);
  return {ct * up * open * (1.0 + gate * (1.0 - open)), ct * gate * open};
}
const KernelDef kSwigluArrays{.dims = "RF,RF->RF", .shardable = "R,F"};
const OpDef kSwiglu{"swiglu", infer_kernel, print_kernel,     eval_kernel,   vjp_swiglu,
                    {},       nullptr,      Recompute::cheap, &kSwigluArrays};

// gate * logistic(gate) * up, each [R,F].
Tensor swiglu(const Tensor& gate, const Tensor& up) {
  const auto body = [](const std::vector<Tensor>& x) { return std::vector<Tensor>{x[0] * logistic(x[0]) * x[1]}; };
  return emit_kernel(kSwiglu, {gate, up}, {}, {}, body)[0];
}

// ── the arithmetic ──
void multiply_gated(const float* gate, const float* up, float* out, int64_t size, const Workers& workers) {
  constexpr int64_t kTask = 4096;
  parallel_for(workers, (size + kTask - 1) / kTask, [&](int64_t task) {
    const int64_t end = std::min(size, (task + 1) * kTask);
    for (int64_t i = task * kTask; i < end; ++i) out[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
  });
}

// ── in programs ──
std::string refuse(const KernelUse& use) {
  const DType dtype = use.operands[0].dtype;
  return dtype == DType::f32 ? "" : "takes f32, not " + std::string(to_string(dtype));
}
std::vector<Tensor> lower(const KernelUse& use, const std::vector<Tensor>& operands) {
  return custom_call({"example_swiglu",
                      "api_version = 4 : i32, "
                      "operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>], "
                      "result_layouts = [dense<[1, 0]> : tensor<2xindex>]"},
                     operands, use.results);
}
const KernelImplementation kCpuSwiglu{"swiglu", "cpu_swiglu", refuse, lower, "f32; any sizes"};

// ── when they run ──
namespace ffi = xla::ffi;
ffi::Error run(ffi::ThreadPool pool, ffi::Buffer<ffi::F32> gate, ffi::Buffer<ffi::F32> up,
               ffi::ResultBuffer<ffi::F32> out) {
  multiply_gated(gate.typed_data(), up.typed_data(), out->typed_data(), static_cast<int64_t>(out->element_count()),
                 workers_of(pool));
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER(kHandler, run,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::ThreadPool>()
                           .Arg<ffi::Buffer<ffi::F32>>()
                           .Arg<ffi::Buffer<ffi::F32>>()
                           .Ret<ffi::Buffer<ffi::F32>>());

TEST(ExampleKernel, TheGradientIsThatOfTheBody) {
  std::mt19937 rng(1);
  const auto loss = [](const std::vector<Tensor>& p) { return sum_all(sin(swiglu(p[0], p[1]))); };
  EXPECT_EQ(check_gradients(loss, {random_literal(rng, {3, 4}), random_literal(rng, {3, 4})}), "");
}

TEST(ExampleKernel, ProgramsCallIt) {
  if (!pjrt::find_plugin("cpu")) GTEST_SKIP() << "no CPU plugin is installed";
  const auto backend = Backend::open("cpu");
  ASSERT_TRUE(pjrt::register_ffi_handler(*backend->client().plugin(), "example_swiglu", "Host",
                                         reinterpret_cast<void*>(kHandler))
                  .ok());
  const TensorFn body = [](const std::vector<Tensor>& x) { return std::vector<Tensor>{swiglu(x[0], x[1])}; };
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const int64_t rows : {1, 100}) {
      const std::vector<TensorType> types(2, {dtype, {rows, 100}});
      const std::vector<Literal> args{sample(types[0], -4, 4), sample(types[1], -2, 2, 1)};
      ProgramSpec spec;
      spec.kernels = {kCpuSwiglu};
      const Jitted f = jit(backend, types, body, spec);
      const KernelChoice& choice = f.executable().program().kernels.at(0);
      EXPECT_EQ(to_string(choice), dtype == DType::f32 ? "swiglu by cpu_swiglu"
                                                       : "swiglu by ordinary ops (cpu_swiglu: takes f32, not f64)");
      const Literal got = f(args)[0], want = interpret(make_graph(types, body), args)[0];
      for (int64_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got.as_double(i), want.as_double(i), 1e-5);
    }
  }
}

TEST(ExampleKernel, TheGuideShowsCodeThatCompiles) {
  const std::string root(TENON_SOURCE_DIR);
  const std::string guide = read_file(root + "/docs/adding_a_kernel.md").value();
  const std::string code = read_file(root + "/src/tenon/runtime/example_kernel_test.cc").value();
  size_t blocks = 0;
  for (size_t at = guide.find("```cpp\n"); at != std::string::npos; at = guide.find("```cpp\n", at + 1), ++blocks) {
    const size_t begin = at + 7, end = guide.find("```", begin);
    const std::string block = guide.substr(begin, end - begin);
    EXPECT_NE(code.find(block), std::string::npos) << "not in example_kernel_test.cc:\n" << block;
  }
  EXPECT_EQ(blocks, 5);
}

}  // namespace
}  // namespace tenon
