// Kernels in compiled programs on the CPU: against their bodies in the interpreter, on one device and on several.
#include <gmock/gmock.h>

#include <cmath>

#include "tenon/autodiff/functional.h"
#include "tenon/ir/cases/op_cases.h"
#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"
#include "tenon/kernels/cpu/dot.h"
#include "tenon/pjrt/plugin.h"
#include "tenon/runtime/jit.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
using Tensors = std::vector<Tensor>;

struct Shape {
  int64_t B = 2, N = 4, K = 2, T = 24, S = 24, H = 8;
  DType dtype = DType::f32;
};

std::vector<TensorType> types_of(const Shape& s) {
  const TensorType q{s.dtype, {s.B, s.N, s.T, s.H}}, k{s.dtype, {s.B, s.K, s.S, s.H}};
  const TensorType of_queries{DType::i32, {s.B, s.T}}, of_keys{DType::i32, {s.B, s.S}};
  return {q, k, k, of_queries, of_keys, of_queries, of_keys};
}

// Two segments a row, from places that differ by row.
std::vector<Literal> arrays_of(const Shape& s) {
  std::vector<Literal> out;
  for (const TensorType& type : types_of(s)) out.push_back(sample(type, -2, 2, static_cast<int>(out.size())));
  for (size_t i = 3; i < 7; ++i) {
    const int64_t tokens = out[i].dims()[1];
    for (int64_t b = 0; b < s.B; ++b) {
      const int64_t cut = tokens / 2 - 3 * b;
      for (int64_t t = 0; t < tokens; ++t) {
        out[i].set_int(b * tokens + t, i >= 5 ? (t < cut ? 1 : 2) : (t < cut ? t : t - cut));
      }
    }
  }
  return out;
}

AttentionOptions causal() {
  AttentionOptions o;
  o.scale = 0.4;
  o.pattern = {.causal = true, .segments = true};
  o.block = 16;
  o.partition = {{"data", "fsdp"}, "model"};
  return o;
}

// Context, lse and the gradients of a sum of both with weights.
TensorFn all_of(const AttentionOptions& options) {
  return [options](const Tensors& t) {
    const auto f = [&](const Tensors& x) {
      const AttentionResult r = attention({x[0], x[1], x[2], t[3], t[4], t[5], t[6]}, options);
      return Tensors{r.context, r.lse};
    };
    const Vjp both = vjp(f, {t[0], t[1], t[2]}, {true, true, true});
    Tensors out = both.results;
    const auto weights = [](const Tensor& x) { return convert(sin(iota({DType::f32, x.dims()}, 2)), x.dtype()); };
    for (const Tensor& ct : both.pull({weights(out[0]), weights(out[1])})) out.push_back(ct);
    return out;
  };
}

// The largest difference over the largest magnitude.
double relative(const Literal& got, const Literal& want) {
  double largest = 1e-30, difference = 0;
  for (int64_t i = 0; i < want.size(); ++i) {
    largest = std::max(largest, std::fabs(want.as_double(i)));
    const double apart = std::fabs(got.as_double(i) - want.as_double(i));
    difference = std::isnan(apart) ? INFINITY : std::max(difference, apart);
  }
  return difference / largest;
}

class Kernels : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!pjrt::find_plugin("cpu")) GTEST_SKIP() << "no CPU plugin is installed";
  }
  void expect_body(const Shape& shape, const AttentionOptions& options, double tolerance,
                   const std::string& platform = "cpu", const ProgramSpec& spec = {}) {
    const std::vector<TensorType> types = types_of(shape);
    const std::vector<Literal> args = arrays_of(shape);
    const Jitted f = jit(Backend::open(platform), types, all_of(options), spec);
    const std::vector<KernelChoice>& kernels = f.executable().program().kernels;
    ASSERT_EQ(kernels.size(), 2U);
    for (const KernelChoice& k : kernels) EXPECT_EQ(k.implementation, "cpu_attention") << to_string(k);
    const std::vector<Literal> got = f(args), want = interpret(make_graph(types, all_of(options)), args);
    const char* names[] = {"context", "lse", "query", "key", "value"};
    for (size_t i = 0; i < 5; ++i) EXPECT_LE(relative(got[i], want[i]), tolerance) << names[i];
  }
};

TEST_F(Kernels, AttentionIsItsBody) {
  expect_body({}, causal(), 1e-5);
  expect_body({.N = 3, .K = 1, .H = 5}, causal(), 1e-5);
  AttentionOptions options = causal();
  options.logit_cap = 2;
  options.pattern.window = 4;
  expect_body({.T = 40, .S = 40}, options, 1e-5);
  options.pattern = {};
  expect_body({.T = 12, .S = 33}, options, 1e-5);
}

TEST_F(Kernels, AttentionInBf16) { expect_body({.dtype = DType::bf16}, causal(), 2e-2); }

TEST_F(Kernels, AttentionIsSplitOverDevices) {
  ProgramSpec spec;
  spec.mesh = Mesh{{"data", 2}, {"model", 2}};
  const PartitionSpec heads{"data", "model"};
  spec.param_specs = {heads, heads, heads, {"data"}, {"data"}, {"data"}, {"data"}};
  expect_body({}, causal(), 1e-5, "cpu:4", spec);
}

// A product and its gradients have three of the four forms; the fourth is a product with a transposed left side.
TEST_F(Kernels, ProductsOfMatrices) {
  if (!has_dot()) GTEST_SKIP() << "this machine lacks the instructions";
  const auto body = [](const Tensors& t) {
    const auto f = [](const Tensors& x) { return Tensors{matmul(x[0], x[1])}; };
    const Vjp both = vjp(f, {t[0], t[1]}, {true, true});
    Tensors out = both.pull({both.results[0]});
    out.push_back(both.results[0]);
    out.push_back(dot_general(t[0], t[1], {{}, {}, {0}, {1}}));
    return out;
  };
  const auto expect_right = [&](DType dtype, const std::string& choice, double tolerance) {
    const std::vector<TensorType> types{{dtype, {70, 65}}, {dtype, {65, 70}}};
    const std::vector<Literal> args{sample(types[0], -1, 1), sample(types[1], -1, 1, 1)};
    const Jitted f = jit(Backend::open("cpu"), types, body);
    const std::vector<KernelChoice>& kernels = f.executable().program().kernels;
    ASSERT_EQ(kernels.size(), 1U);
    EXPECT_EQ(to_string(kernels[0]), choice);
    const std::vector<Literal> got = f(args), want = interpret(make_graph(types, body), args);
    for (size_t i = 0; i < 4; ++i) EXPECT_LE(relative(got[i], want[i]), tolerance) << i;
  };
  expect_right(DType::bf16, "dot_general x4 by cpu_dot", 0x1p-7);
  // Of f32, the two whose left side is read by rows.
  expect_right(DType::f32, "dot_general x2 by cpu_dot", 1e-5);
}

TEST_F(Kernels, ProductsThatStayWithTheCompiler) {
  const auto taken = [](DType dtype, int64_t rows) {
    const std::vector<TensorType> types{{dtype, {rows, 64}}, {dtype, {64, 64}}};
    Graph graph = make_graph(types, [](const Tensors& t) { return Tensors{matmul(t[0], t[1])}; });
    return !select_kernels(graph, kernels_for("cpu"), Mesh()).empty();
  };
  EXPECT_EQ(taken(DType::bf16, 64), has_dot());
  EXPECT_FALSE(taken(DType::bf16, 63));
  EXPECT_EQ(taken(DType::f32, 64), has_dot());
  EXPECT_FALSE(taken(DType::f32, 63));
  EXPECT_FALSE(taken(DType::f16, 64));
  EXPECT_FALSE(taken(DType::f64, 64));
  const std::vector<TensorType> types{{DType::bf16, {64, 64}}, {DType::bf16, {64, 64}}};
  Graph no_sums =
      make_graph(types, [](const Tensors& t) { return Tensors{dot_general(t[0], t[1], {{0, 1}, {0, 1}, {}, {}})}; });
  EXPECT_TRUE(select_kernels(no_sums, kernels_for("cpu"), Mesh()).empty());
}

TEST_F(Kernels, RefusalsSayWhy) {
  const auto choice = [](const Shape& shape, const AttentionOptions& options) {
    Graph graph = make_graph(types_of(shape), all_of(options));
    return to_string(select_kernels(graph, kernels_for("cpu"), Mesh()).at(0));
  };
  EXPECT_EQ(choice({.dtype = DType::f16}, causal()),
            "attention by ordinary ops (cpu_attention: takes f32 and bf16, not f16)");
  EXPECT_THAT(choice({.T = 1}, causal()), HasSubstr("2 queries a key head are too few to pay"));
  AttentionOptions options = causal();
  options.mask = [](const Tensor& q, const Tensor& k, const Tensor&, const Tensor&) {
    const Dims shape{q.dim(0), q.dim(1), k.dim(1)};
    return less(broadcast_to(expand_dims(k, 1), shape), broadcast_to(expand_dims(q, 2), shape));
  };
  EXPECT_THAT(choice({}, options), HasSubstr("the mask is a function it doesn't know"));
}

// A program made for a platform that has a kernel, compiled for one that lacks it.
TEST_F(Kernels, OneThatThePlatformLacksIsNamedWithItsModule) {
  const KernelList others{{"attention", "elsewhere", [](const KernelUse&) { return std::string(); },
                           [](const KernelUse& use, const Tensors& operands) {
                             return custom_call(
                                 {"attention_of_elsewhere", "api_version = 4 : i32, backend_config = {}"}, operands,
                                 use.results);
                           }}};
  Graph graph = make_graph(types_of({}), [](const Tensors& t) {
    current_trace().set_path("decoder.layers.0.attention.core");
    return all_of(causal())(t);
  });
  ProgramSpec spec;
  spec.kernels = others;
  const Program program = make_program(graph, spec);
  try {
    compile(Backend::open("cpu"), Mesh(), program);
    FAIL() << "it was compiled";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::compile);
    EXPECT_EQ(e.path(), "decoder.layers.0.attention.core/custom_call");
    EXPECT_THAT(e.what(), HasSubstr("attention_of_elsewhere"));
  }
}

// The first query sees the first key.
TEST_F(Kernels, NaNIsNeverHidden) {
  const Jitted f = jit(Backend::open("cpu"), types_of({}), all_of(causal()));
  for (const size_t array : {0, 1, 2}) {  // query, key, value
    std::vector<Literal> args = arrays_of({});
    args[array].set(0, std::nan(""));
    EXPECT_TRUE(std::isnan(f(args)[0].as_double(0))) << "array " << array;
  }
}

// Without kernels: what the compiler reserves for attention and its gradient grows with the length, not its square.
TEST_F(Kernels, BlockwiseAttentionNeedsMemoryByLength) {
  const auto temporary = [](int64_t tokens) {
    Graph graph =
        make_graph(types_of({.B = 1, .N = 1, .K = 1, .T = tokens, .S = tokens, .H = 16}), [](const Tensors& t) {
          AttentionOptions options = causal();
          options.block = 128;
          return all_of(options)(t);
        });
    return compile(Backend::open("cpu"), Mesh(), make_program(graph)).memory().temporary;
  };
  const int64_t at_8k = temporary(8192), at_16k = temporary(16384);
  EXPECT_LT(at_16k, 2.2 * static_cast<double>(at_8k));
  EXPECT_LT(at_16k, int64_t{16384} * 16384 * 4 / 10);  // a tenth of one array of weights
}

}  // namespace
}  // namespace tenon
