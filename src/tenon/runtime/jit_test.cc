#include "tenon/runtime/jit.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <numeric>

#include "tenon/autodiff/functional.h"
#include "tenon/autodiff/remat.h"
#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/pjrt/plugin.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const TensorType kVector{DType::f32, {4}};

Literal vector(std::vector<double> values) {
  return Literal::from(DType::f32, {static_cast<int64_t>(values.size())}, std::span<const double>(values));
}

class Jit : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!pjrt::find_plugin("cpu")) GTEST_SKIP() << "no CPU plugin is installed";
  }
};

// Compilers end the process over such programs.
TEST(MakeProgram, RefusesArraysThatNoDeviceHolds) {
  const std::vector<TensorType> types{{DType::f32, {1, 1}}};
  const auto error = [&](int64_t rows, int64_t devices) {
    return error_of([&] {
      Graph graph = make_graph(types, [&](const std::vector<Tensor>& p) {
        current_trace().set_path("decoder");
        return std::vector<Tensor>{broadcast_to(p[0], {rows, int64_t{1} << 32})};
      });
      make_program(graph, {.mesh = Mesh{{"data", devices}}});
    });
  };
  EXPECT_FALSE(error(65536, 1)) << "1 PiB";
  EXPECT_FALSE(error(131072, 2));
  const auto refused = error(131072, 1);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code(), ErrorCode::out_of_memory);
  EXPECT_THAT(refused->what(), HasSubstr("at decoder/"));
  EXPECT_THAT(refused->what(), HasSubstr("got 2.0 PiB of f32[131072,4294967296] on each of 1 devices"));
}

TEST_F(Jit, RunsAGradient) {
  const std::vector<TensorType> types{kVector, kVector};
  // d/dx sum(sin(x) y) = cos(x) y
  const Jitted f = jit(Backend::open("cpu"), types, [](const std::vector<Tensor>& args) {
    return std::vector<Tensor>{grad([&](const Tensor& x) { return sum_all(sin(x) * args[1]); }, args[0])};
  });
  const std::vector<double> x{0, 0.5, 1, -2}, y{1, 2, 3, 4};
  const std::vector<Literal> got = f(std::vector<Literal>{vector(x), vector(y)});
  ASSERT_EQ(got.size(), 1U);
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(got[0].as_double(static_cast<int64_t>(i)), std::cos(x[i]) * y[i], 1e-6);
}

// The CPU has one memory: what is kept on the host stays where it is.
TEST_F(Jit, HostOffloadIsHarmlessOnTheCpu) {
  const std::vector<TensorType> types{kVector, {DType::f32, {3, 4}}};
  const auto run = [&](const RematPolicy& policy, bool host) {
    const Jitted f = jit(Backend::open("cpu"), types, [&](const std::vector<Tensor>& args) {
      const auto loss = [&](const std::vector<Tensor>& p) {
        const auto step = [&](const Tensor&, const Tensor& h, const Tensor& w) {
          const RematScope scope(policy);
          return std::pair<Tensor, std::vector<Tensor>>(sin(tag(tanh(h * w), "hidden")), {});
        };
        return sum_all(scan(step, p[0], p[1]).first);
      };
      return grad(loss, args);
    });
    EXPECT_EQ(uses_host_memory(f.executable().program()), host);
    const Literal w = Literal::from(DType::f32, {3, 4}, std::vector<double>{1, 2, 3, 4, -1, -2, -3, -4, 1, 1, 2, 2});
    return f(std::vector<Literal>{vector({0, 0.5, 1, -2}), w});
  };
  EXPECT_EQ(run(SaveTags{.host = {"hidden"}}, true), run(SaveTags{.device = {"hidden"}}, false));
}

TEST_F(Jit, ArgumentsAndResultsInHostMemory) {
  const auto backend = Backend::open("cpu:2");
  ProgramSpec spec;
  spec.mesh = Mesh{{"fsdp", 2}};
  spec.num_donated = 1;
  spec.param_specs = spec.result_specs = {PartitionSpec{"fsdp"}};
  spec.param_memory = spec.result_memory = {MemoryKind::pinned_host};
  const std::vector<TensorType> types{kVector};
  const Jitted f = jit(
      backend, types, [](const std::vector<Tensor>& a) { return std::vector<Tensor>{to_host(to_device(a[0]) * 2.0)}; },
      spec);
  EXPECT_EQ(host_argument_bytes(f.executable().program(), spec.mesh), 8);
  EXPECT_TRUE(uses_host_memory(f.executable().program()));
  const auto at = [&](MemoryKind memory) {
    return std::vector<Array>{Array::from_literal(backend, spec.mesh, {"fsdp"}, vector({1, 2, 3, 4}), memory)};
  };
  std::vector<Array> x = at(MemoryKind::pinned_host);
  for (int i = 0; i < 3; ++i) x = f(x);
  EXPECT_EQ(x[0].memory(), MemoryKind::pinned_host);
  EXPECT_EQ(x[0].to_literal(), vector({8, 16, 24, 32}));
  EXPECT_THROW(f(at(MemoryKind::device)), Error);
  spec.result_memory.clear();
  EXPECT_THROW(jit(backend, types, [](const std::vector<Tensor>& a) { return a; }, spec), Error);
}

// Without guard_own_slices XLA 0.11.2 reads rows that it has overwritten.
TEST_F(Jit, AShiftWithinAnArrayIsRight) {
  const std::vector<TensorType> types{{DType::i32, {4, 1, 1}}};
  const TensorFn shift = [](const std::vector<Tensor>& args) {
    const Tensor base = args[0] + 1.0, zero = constant(Literal::scalar_int(DType::i32, 0));
    const std::vector<Tensor> starts{constant(Literal::scalar_int(DType::i32, 1)), zero, zero};
    return std::vector<Tensor>{
        reshape(dynamic_update_slice(base, slice(base, {0, 0, 0}, {3, 1, 1}), starts), {1, 4, 1})};
  };
  const auto ints = [](const Dims& dims, std::vector<int64_t> v) {
    return Literal::from(DType::i32, dims, std::span<const int64_t>(v));
  };
  const Jitted f = jit(Backend::open("cpu"), types, shift);
  EXPECT_EQ(f(std::vector<Literal>{ints({4, 1, 1}, {0, 1, 2, 3})})[0], ints({1, 4, 1}, {1, 1, 2, 3}));
}

// Without guard_slice_starts XLA 0.11.2 merges these without clamping each start.
TEST_F(Jit, SlicesOfSlicesOutOfBoundsAreRight) {
  using Tensors = std::vector<Tensor>;
  const auto along = [](const Tensor& start, const Tensor& x) {
    Tensors starts(static_cast<size_t>(x.rank()), constant(Literal::scalar_int(DType::i32, 0)));
    starts[0] = start;
    return starts;
  };
  const auto rows = [&](const Tensor& x, const Tensor& start, int64_t count) {
    Dims sizes = x.dims();
    sizes[0] = count;
    return dynamic_slice(x, along(start, x), sizes);
  };
  const std::map<std::string, TensorFn> programs = {
      {"slice", [&](const Tensors& x) { return Tensors{rows(rows(x[0], x[1], 4), x[2], 2)}; }},
      {"reshape", [&](const Tensors& x) { return Tensors{rows(reshape(rows(x[0], x[1], 4), {4, 1, 2}), x[2], 2)}; }},
      {"broadcast",
       [&](const Tensors& x) {
         return Tensors{rows(broadcast_in_dim(rows(x[0], x[1], 4), {4, 2, 3}, {0, 1}), x[2], 2)};
       }},
      {"take", [&](const Tensors& x) { return Tensors{take(rows(x[0], x[1], 4), x[2])}; }},
      {"update",
       [&](const Tensors& x) {
         const Tensor part = rows(x[0], x[1], 4), inner = dynamic_update_slice(part, x[3], along(x[2], part));
         return Tensors{dynamic_update_slice(x[0], inner, along(x[1], part))};
       }},
  };
  const std::vector<TensorType> types{{DType::i32, {10, 2}}, {DType::i32, {}}, {DType::i32, {}}, {DType::i32, {2, 2}}};
  std::vector<int64_t> numbers(20);
  std::iota(numbers.begin(), numbers.end(), 100);
  const auto backend = Backend::open("cpu");
  for (const auto& [name, program] : programs) {
    const Jitted f = jit(backend, types, program);
    const std::vector<std::pair<int64_t, int64_t>> starts{{9, 0}, {3, 5}, {0, 7}, {-3, 1}, {8, 9}, {2, 1}};
    for (const auto& [outer, inner] : starts) {
      const std::vector<Literal> args{Literal::from(DType::i32, {10, 2}, std::span<const int64_t>(numbers)),
                                      Literal::scalar_int(DType::i32, outer), Literal::scalar_int(DType::i32, inner),
                                      Literal::from(DType::i32, {2, 2}, std::vector<int64_t>{1, 2, 3, 4})};
      EXPECT_EQ(f(args), interpret(make_graph(types, program), args)) << name << " at " << outer << ", " << inner;
    }
  }
}

TEST_F(Jit, DonatedMemoryIsUsedAgain) {
  ProgramSpec spec;
  spec.num_donated = 1;
  const auto backend = Backend::open("cpu");
  const std::vector<TensorType> types{kVector, kVector};
  const Jitted f =
      jit(backend, types, [](const std::vector<Tensor>& a) { return std::vector<Tensor>{a[0] + a[1]}; }, spec);
  EXPECT_EQ(f.executable().memory().alias, 16);
  const Array x = Array::from_literal(backend, Mesh(), {}, vector({1, 2, 3, 4}));
  const std::vector<Array> y = f(std::vector<Array>{x, Array::from_literal(backend, Mesh(), {}, vector({1, 1, 1, 1}))});
  EXPECT_EQ(y[0].to_literal(), vector({2, 3, 4, 5}));
  EXPECT_TRUE(x.is_donated());
}

TEST_F(Jit, SplitsOverAMesh) {
  ProgramSpec spec;
  spec.mesh = Mesh{{"fsdp", 2}, {"model", 2}};
  spec.param_specs = {PartitionSpec{"fsdp"}};
  const std::vector<TensorType> types{kVector};
  const Jitted f = jit(
      Backend::open("cpu:4"), types, [](const std::vector<Tensor>& a) { return std::vector<Tensor>{sum_all(a[0])}; },
      spec);
  EXPECT_EQ(f(std::vector<Literal>{vector({1, 2, 3, 4})})[0].as_double(0), 10);
}

TEST(MakeProgram, DropsDeadCode) {
  const std::vector<TensorType> types{kVector};
  Graph graph = make_graph(types, [](const std::vector<Tensor>& a) {
    exp(a[0]);
    return std::vector<Tensor>{tanh(a[0])};
  });
  const Program program = make_program(graph);
  EXPECT_THAT(program.text, HasSubstr("stablehlo.tanh"));
  EXPECT_THAT(program.text, Not(HasSubstr("stablehlo.exponential")));
}

TEST(MakeProgram, DonatedArgumentsNeedAResultOfTheirType) {
  const std::vector<TensorType> types{kVector};
  const auto error = [&](const TensorFn& body, size_t num_donated) {
    Graph graph = make_graph(types, body);
    ProgramSpec spec;
    spec.param_names = {"cache"};
    spec.num_donated = num_donated;
    const auto e = error_of([&] { make_program(graph, spec); });
    return e ? std::string(e->what()) : "";
  };
  const TensorFn sums = [](const std::vector<Tensor>& a) { return std::vector<Tensor>{sum_all(a[0])}; };
  EXPECT_THAT(error(sums, 1), HasSubstr("argument 0 (cache)"));
  EXPECT_THAT(error(sums, 1), HasSubstr("got f32[4], expected f32[]"));
  EXPECT_THAT(error([](const std::vector<Tensor>& a) { return std::vector<Tensor>{-a[0]}; }, 2),
              HasSubstr("argument 1"));
}

}  // namespace
}  // namespace tenon
