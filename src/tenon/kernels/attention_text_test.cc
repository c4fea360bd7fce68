// Attention kernels that are text: what they say, run by testing/block_machine.h, against the bodies of the ops.
#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/kernels/attention_use.h"
#include "tenon/kernels/cuda/triton_attention.h"
#include "tenon/kernels/testing/block_machine.h"
#include "tenon/kernels/tpu/mosaic_attention.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;
using Literals = std::vector<Literal>;

// Attention, and the cotangents of its inputs for given ones of its results.
struct TextCase {
  DType dtype = DType::f32;
  int64_t B = 1, N = 4, K = 2, T = 150, S = 150, H = 8;
  AttentionOptions options{.scale = 0.4, .pattern = {.causal = true}, .mask = {}, .block = 64, .partition = {}};
  bool documents = false;  // positions start again several times in a row, with a segment each
  int unseen = 0;          // queries in front that see no key

  std::vector<TensorType> types() const {
    const TensorType q{dtype, {B, N, T, H}}, k{dtype, {B, K, S, H}};
    const TensorType queries{DType::i32, {B, T}}, keys{DType::i32, {B, S}};
    return {q, k, k, queries, keys, queries, keys, q, {wide_dtype(dtype), {B, N, T}}};
  }
  Graph graph() const {
    return make_graph(types(), [&](const Tensors& t) {
      const AttentionResult r = attention({t[0], t[1], t[2], t[3], t[4], t[5], t[6]}, options);
      const OpInfo op = r.context.trace()->op(r.context.trace()->value(r.context.id()).def);
      VjpArgs vjp{op.attrs,
                  {t.begin(), t.begin() + 7},
                  {r.context, r.lse},
                  {t[7], t[8]},
                  {true, true, true, false, false, false, false},
                  op.regions};
      Tensors out = op.def->vjp(vjp);
      out.resize(3);
      out.insert(out.begin(), {r.context, r.lse});
      return out;
    });
  }
  Literals arguments() const {
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    Literals out;
    for (const TensorType& type : types()) {
      Literal x(type);
      for (int64_t i = 0; i < x.size() && type.dtype != DType::i32; ++i) x.set(i, normal(random));
      out.push_back(std::move(x));
    }
    for (const size_t i : {3, 4}) {
      const int64_t length = out[i].dims()[1], document = documents ? 70 : length;
      for (int64_t n = 0; n < out[i].size(); ++n) {
        const int64_t place = n % length + (n / length) * 13;  // rows differ
        out[i].set_int(n, i == 3 && n % length < unseen ? -1 : place % document);
        out[i + 2].set_int(n, 1 + place / document);
      }
    }
    return out;
  }
};

struct Outcome {
  Literals results;
  int64_t num_products = 0;
};

// The graph after select_kernels, its calls run by the machine.
Outcome run(const Graph& graph, const Literals& arguments) {
  const Trace& trace = *graph.trace;
  const RegionInfo& root = trace.region(graph.root);
  std::vector<Literal> values(trace.num_values());
  for (size_t i = 0; i < arguments.size(); ++i) values[root.params[i]] = arguments[i];
  Outcome out;
  for (const OpId id : root.ops) {
    const OpInfo& op = trace.op(id);
    Literals results;
    if (is_custom_call(op)) {
      Literals operands;
      for (const ValueId v : op.operands) operands.push_back(values[v]);
      KernelRun done =
          run_kernel(op.attrs.text("target"), op.attrs.text("attributes"), operands, trace.types(op.results));
      out.num_products += done.num_products;
      results = std::move(done.results);
    } else {
      EvalArgs args{trace, op, {}, trace.types(op.results), {}};
      for (const ValueId v : op.operands) args.operands.push_back(&values[v]);
      results = op.def->eval(args);
    }
    for (size_t i = 0; i < results.size(); ++i) values[op.results[i]] = std::move(results[i]);
  }
  for (const ValueId v : root.results) out.results.push_back(values[v]);
  return out;
}

// Relative to the largest value of an array; NaN and infinities must be the same.
void expect_near(const Literal& got, const Literal& want, double tolerance, const char* what) {
  ASSERT_EQ(got.type(), want.type()) << what;
  double largest = 1e-3, worst = 0;
  for (int64_t i = 0; i < want.size(); ++i) {
    if (std::isfinite(want.as_double(i))) largest = std::max(largest, std::abs(want.as_double(i)));
  }
  for (int64_t i = 0; i < want.size(); ++i) {
    const double a = got.as_double(i), b = want.as_double(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    worst = std::isfinite(a - b) ? std::max(worst, std::abs(a - b)) : INFINITY;
  }
  EXPECT_LE(worst / largest, tolerance) << what;
}

// Returns how many products of blocks were computed.
int64_t check(const TextCase& c, const KernelList& kernels, double tolerance = 2e-6) {
  Graph graph = c.graph();
  const Literals arguments = c.arguments(), want = interpret(graph, arguments);
  for (const KernelChoice& choice : select_kernels(graph, kernels, Mesh()))
    EXPECT_NE(choice.implementation, "") << to_string(choice);
  const Outcome got = run(graph, arguments);
  const char* names[] = {"context", "lse", "query", "key", "value"};
  for (size_t i = 0; i < want.size(); ++i) expect_near(got.results[i], want[i], tolerance, names[i]);
  return got.num_products;
}

class AttentionText : public ::testing::TestWithParam<const char*> {
 protected:
  KernelList kernels() const {
    return GetParam() == std::string("cuda") ? triton_attention_kernels(90) : mosaic_attention_kernels();
  }
};

TEST_P(AttentionText, ComputesWhatTheBodyDoes) {
  TextCase all;
  all.options.pattern = {};
  all.T = 128;
  check(all, kernels());
  TextCase window{.B = 2, .N = 2, .K = 2};
  window.options.pattern.window = 40;
  check(window, kernels());
  TextCase rich{.N = 2, .K = 1, .T = 140, .S = 200, .H = 12, .documents = true};
  if (GetParam() == std::string("tpu")) rich.S = 300;  // three blocks
  rich.options.pattern = {.causal = true, .window = 50, .segments = true};
  rich.options.logit_cap = 2;
  check(rich, kernels());
}

TEST_P(AttentionText, RoundsBf16AsTheBodyDoes) {
  TextCase c{.dtype = DType::bf16, .N = 2, .documents = true};
  c.options.pattern.segments = true;
  check(c, kernels(), 0.02);
}

TEST_P(AttentionText, QueriesWithoutKeysAreZero) {
  TextCase c{.N = 2, .K = 1, .unseen = 130};  // a whole block, and more
  check(c, kernels());
}

// In what depends on it; the body's products with zeros spread it further.
TEST_P(AttentionText, NanIsNotHidden) {
  const TextCase c{.N = 2, .K = 2};
  constexpr int64_t kBad = 100;  // key of head 0
  Graph graph = c.graph();
  Literals arguments = c.arguments();
  arguments[1].set(kBad * c.H, NAN);
  const Literals want = interpret(graph, arguments);
  select_kernels(graph, kernels(), Mesh());
  const Literals got = run(graph, arguments).results;
  for (size_t i = 0; i < want.size(); ++i) {
    const int64_t width = i == 1 ? 1 : c.H;
    for (int64_t n = 0; n < want[i].size(); ++n) {
      const int64_t token = n / width;  // of head 0, then of head 1
      const bool sees = token >= kBad && token < c.T;
      const bool depends = i < 3 ? sees : token == kBad;
      const bool nan = std::isnan(got[i].as_double(n));
      ASSERT_TRUE(nan || !depends) << i << " " << n;
      ASSERT_TRUE(!nan || std::isnan(want[i].as_double(n))) << i << " " << n;
    }
  }
}

// Products of blocks: two a pair forward, three for queries' gradients and four for keys'.
TEST_P(AttentionText, SkipsBlocksThatNoQuerySees) {
  const bool gpu = GetParam() == std::string("cuda");
  const int64_t T = gpu ? 192 : 384;  // blocks of 64 x 32 and 32 x 32, or of 128 x 128
  TextCase all{.N = 1, .K = 1, .T = T, .S = T}, causal = all, window = all, documents = all;
  all.options.pattern = {};
  window.options.pattern.window = 20;
  documents.documents = true;
  documents.options.pattern = {.causal = false, .segments = true};
  const auto products = [&](int64_t forward, int64_t backward) { return 2 * forward + 7 * backward; };
  EXPECT_EQ(check(all, kernels()), gpu ? products(18, 36) : products(9, 9));
  EXPECT_EQ(check(causal, kernels()), gpu ? products(12, 21) : products(6, 6));
  EXPECT_EQ(check(window, kernels()), gpu ? products(8, 11) : products(5, 5));
  EXPECT_EQ(check(documents, kernels()), gpu ? products(12, 20) : products(7, 7));
}

INSTANTIATE_TEST_SUITE_P(Platforms, AttentionText, ::testing::Values("cuda", "tpu"),
                         [](const auto& platform) { return std::string(platform.param); });

std::string choice(const TextCase& c, const KernelList& kernels) {
  Graph graph = c.graph();
  return to_string(select_kernels(graph, kernels, Mesh()).at(0));
}

TEST(TritonAttention, SaysWhatItRefuses) {
  const auto refused = [](const TextCase& c, const std::string& why, int capability = 90) {
    EXPECT_EQ(choice(c, triton_attention_kernels(capability)),
              "attention by ordinary ops (triton_attention: " + why + ")");
  };
  refused({.dtype = DType::f64}, "takes f32, f16 and bf16, not f64");
  refused({.T = 8, .S = 8}, "8 queries are too few to pay");
  refused({.S = 0}, "an array is empty");
  refused({.H = 264}, "a head dim of 264");
  refused({}, "takes compute capability 8.0 and above, not 7.5", 75);
  EXPECT_EQ(choice({}, triton_attention_kernels(0)), "attention by triton_attention");
}

TEST(MosaicAttention, SaysWhatItRefuses) {
  const auto refused = [](const TextCase& c, const std::string& why) {
    EXPECT_EQ(choice(c, mosaic_attention_kernels()), "attention by ordinary ops (mosaic_attention: " + why + ")");
  };
  refused({.dtype = DType::f16}, "takes f32 and bf16, not f16");
  refused({.T = 127}, "127 queries are too few to pay");
  refused({.S = 127}, "127 keys are too few to pay");
  refused({.T = 0}, "an array is empty");
  refused({.H = 264}, "a head dim of 264");
  refused({.B = 40000, .N = 1, .K = 1}, "the batch has more blocks than scalar memory holds");
}

TEST(BlockMachine, RefusesWhatItCannotRead) {
  const auto refused = [](const char* text) {
    const Literals none;
    const std::string attributes =
        "ir = " + quoted_attribute(text) + ", grid_x = 1 : i32, grid_y = 1 : i32, grid_z = 1 : i32";
    try {
      run_kernel("__gpu$xla.gpu.triton", attributes, none, {});
      ADD_FAILURE() << text;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument) << text;
    }
  };
  refused("modul {}");
  refused("module { \"tt.func\"() ({ %0 = \"no.op\"() : () -> (i32)\n\"tt.return\"() : () -> () }) : () -> () }");
  refused("module { \"tt.func\"() ({ \"tt.store\"(%1) : (i32) -> ()\n\"tt.return\"() : () -> () }) : () -> () }");
}

}  // namespace
}  // namespace tenon
