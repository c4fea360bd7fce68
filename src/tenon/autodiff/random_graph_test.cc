// Random programs: gradients against central differences, and passes that must not change results.
#include <gtest/gtest.h>

#include "tenon/autodiff/functional.h"
#include "tenon/autodiff/remat.h"
#include "tenon/autodiff/testing/check_gradients.h"
#include "tenon/config/define.h"
#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/printer.h"
#include "tenon/ir/testing/shuffle_ops.h"
#include "tenon/ir/verify.h"
#include "tenon/passes/pipeline.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;

// Grows a program from a seed, the same at every call. Values stay near 1: every op's result is bounded or averaged.
class Grower {
 public:
  // With a policy, all that is grown is in its scope.
  explicit Grower(unsigned seed, RematPolicy policy = {}) : rng_(seed), policy_(std::move(policy)) {}

  Tensor loss(const Tensors& params) {
    const RematScope scope(policy_);
    Tensors pool = params;
    for (int i = 0; i < 14; ++i) pool.push_back(grow(pool, 2));
    Tensor out = mean_of(pool.back());
    for (size_t i = params.size(); i < pool.size(); i += 3) out = out + mean_of(pool[i]);
    return out;
  }

 private:
  size_t below(size_t n) { return rng_() % n; }
  const Tensor& any(const Tensors& pool) { return pool[below(pool.size())]; }
  static Tensor mean_of(const Tensor& x) {
    return sum_all(sin(x)) * (1.0 / static_cast<double>(num_elements(x.dims())));
  }

  // A value of `pool` made to have this shape.
  Tensor fitted(const Tensors& pool, const Dims& shape) {
    std::vector<Tensor> same;
    for (const Tensor& t : pool) {
      if (t.dims() == shape) same.push_back(t);
    }
    if (!same.empty() && below(3) > 0) return same[below(same.size())];
    return broadcast_to(mean_of(any(pool)), shape);
  }

  Tensor unary(const Tensor& x) {
    switch (below(7)) {
      case 0:
        return tanh(x);
      case 1:
        return sin(x);
      case 2:
        return exp(x * -0.5 - cos(x)) * 0.2;
      case 3:
        return log(x * x + 1.5);
      case 4:
        return logistic(x) - 0.5;
      case 5:
        return rsqrt(x * x + 0.7);
      default:
        return x * stop_gradient(full_like(x, 0.8));
    }
  }

  Tensor binary(const Tensor& a, const Tensor& b) {
    switch (below(5)) {
      case 0:
        return a + b;
      case 1:
        return a - b;
      case 2:
        return a * tanh(b);
      case 3:
        return a / (b * b + 1.0);
      default:
        if (a.rank() == 0) return maximum(a, b + 0.123);
        return select(greater(sin(iota(a.type(), a.rank() - 1)), full_like(a, 0.5)), a * 0.5, b);
    }
  }

  Tensor move(const Tensor& x) {
    const int64_t rank = x.rank();
    if (rank == 0) return broadcast_to(x, {2, 3});
    const int64_t dim = static_cast<int64_t>(below(static_cast<size_t>(rank)));
    switch (below(6)) {
      case 0:
        return slice_dim(x, dim, 0, std::max<int64_t>(1, x.dim(dim) - 1));
      case 1:
        return x.dim(dim) > 3 ? slice_dim(x, dim, 1, 3) : concatenate(Tensors{x, sin(x)}, dim);
      case 2:
        return reshape(x, {-1});
      case 3:
        return rank == 2 ? transpose(x, {1, 0}) : expand_dims(x, 0);
      case 4:
        return pad(x, zeros({DType::f64, {}}), Dims(static_cast<size_t>(rank), 0), Dims(static_cast<size_t>(rank), 1));
      default:
        return mean(x, {dim});
    }
  }

  Tensor contract(const Tensor& x) {
    const Tensor flat = reshape(x, {-1});
    const int64_t n = flat.dim(0);
    const Tensor column = reshape(flat, {n, 1});
    return matmul(reshape(sin(flat), {1, n}), column * 0.3) + matmul(column, reshape(flat, {1, n})) * 0.05;
  }

  Tensor loop(const Tensors& pool, int depth) {
    const Tensor x = any(pool).rank() > 0 ? any(pool) : fitted(pool, {2, 3});
    const Tensor xs = x.rank() > 0 ? x : fitted(pool, {2, 3});
    const Tensor init = fitted(pool, {2});
    const bool reverse = below(2) == 0, keeps = below(2) == 0;
    const bool saves_nothing = below(2) == 0;
    const RematPolicy policy = policy_ ? policy_ : saves_nothing ? RematPolicy(SaveNothing{}) : RematPolicy();
    const auto out = scan(
        [&](const Tensor& index, const Tensor& h, const Tensor& slice) {
          const RematScope scope(policy);
          Tensors inner{h, slice, any(pool), convert(index, DType::f64) * 0.1};
          for (int i = 0; i < 3; ++i) inner.push_back(grow(inner, depth - 1));
          const Tensor next = tanh(h + mean_of(inner.back()) + mean_of(slice));
          return std::pair<Tensor, Tensor>(keeps ? h : next, inner.back() * 0.5);
        },
        init, xs, {}, reverse);
    return below(2) == 0 ? out.first : reduce_sum(out.second, {0});
  }

  Tensor branch(const Tensors& pool) {
    const Tensor a = any(pool), b = fitted(pool, a.dims());
    const Tensor yes = below(2) == 0 ? greater(full({DType::f64, {}}, 1), zeros({DType::f64, {}}))
                                     : less(full({DType::f64, {}}, 1), zeros({DType::f64, {}}));
    const auto first = [&] { return Tensors{unary(a)}; };
    const auto second = [&] { return Tensors{tag(unary(tag(binary(b, a), "t")), "branch")}; };
    if (below(2) == 0) return cond(yes, first, second)[0];
    const Tensor index = full({DType::i32, {}}, static_cast<double>(below(4)));
    return switch_case(index, {first, second, [&] { return Tensors{a}; }})[0];
  }

  Tensor grow(const Tensors& pool, int depth) {
    switch (below(depth > 0 ? 12 : 9)) {
      case 0:
      case 1:
      case 2:
        return unary(any(pool));
      case 3:
      case 4: {
        const Tensor a = any(pool);
        return binary(a, fitted(pool, a.dims()));
      }
      case 5:
      case 6:
        return small(move(any(pool)));
      case 7:
        return small(contract(small(any(pool))));
      case 8:
        return tag(unary(any(pool)), "t");
      case 9:
        return small(branch(pool));
      default:
        return small(loop(pool, depth));
    }
  }

  // Keeps arrays to a few elements.
  static Tensor small(const Tensor& x) {
    Tensor out = x;
    while (num_elements(out.dims()) > 12) out = mean(out, {0});
    return out;
  }

  std::mt19937 rng_;
  RematPolicy policy_;
};

// Decides by chance, always the same for one op and tag.
struct SaveByChance {
  int64_t seed = 0;
  TENON_FN(seed)
  Save operator()(const RematQuery& query) const {
    uint32_t h = static_cast<uint32_t>(seed) * 2654435761U;
    for (const std::string_view text : {query.op, query.tag}) {
      for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 16777619U;
    }
    return static_cast<Save>((h >> 16) % 3);
  }
};
TENON_FN_TYPE(SaveByChance, Save(const RematQuery&), "")

std::vector<Literal> arguments(unsigned seed) {
  std::mt19937 rng(seed);
  return {random_literal(rng, {2, 3}), random_literal(rng, {2}), random_literal(rng, {})};
}

TEST(RandomGraphs, GradientsAreThoseOfTheProgram) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const LossFn loss = [&](const Tensors& p) { return Grower(seed).loss(p); };
    ASSERT_EQ(check_gradients(loss, arguments(seed)), "") << "seed " << seed;
  }
}

TEST(RandomGraphs, PoliciesChangeNoBit) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const std::vector<Literal> args = arguments(seed);
    const auto run = [&](const RematPolicy& policy) {
      const Graph graph = gradient_graph([&](const Tensors& p) { return Grower(seed, policy).loss(p); }, args);
      verify(graph);
      return interpret(graph, args);
    };
    const std::vector<Literal> want = run(SaveEverything{});
    ASSERT_EQ(run(SaveNothing{}), want) << "nothing, seed " << seed;
    ASSERT_EQ(run(SaveRules{.otherwise = Save::automatic}), want) << "automatic, seed " << seed;
    for (int64_t chance = 0; chance < 3; ++chance) {
      ASSERT_EQ(run(SaveByChance{chance + 3 * seed}), want) << "chance " << chance << ", seed " << seed;
    }
  }
}

TEST(RandomGraphs, PassesKeepResults) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const std::vector<Literal> args = arguments(seed);
    const RematPolicy policy = seed % 2 == 0 ? RematPolicy() : RematPolicy(SaveByChance{seed});
    Graph graph = gradient_graph([&](const Tensors& p) { return Grower(seed, policy).loss(p); }, args);
    const std::vector<Literal> want = interpret(graph, args);
    run_passes(graph, {}, Mesh(), [&](const Pass* pass, const Graph& g) {
      if (pass == nullptr) return;
      verify(g);
      ASSERT_EQ(interpret(g, args), want) << pass->name << ", seed " << seed;
    });
    const std::string once = to_string(graph);
    run_passes(graph, {}, Mesh());
    ASSERT_EQ(to_string(graph), once) << "seed " << seed;
  }
}

// A loss whose ops were traced in another order, as another C++ compiler would, has the same gradient program.
TEST(RandomGraphs, TheOrderOfTracingDoesNotMatter) {
  std::mt19937 rng(1);
  for (unsigned seed = 0; seed < 60; ++seed) {
    const std::vector<Literal> args = arguments(seed);
    const RematPolicy policy = seed % 2 == 0 ? RematPolicy() : RematPolicy(SaveByChance{seed});
    const auto program = [&](bool shuffled) {
      const LossFn loss = [&](const Tensors& p) {
        std::vector<TensorType> types;
        for (const Tensor& t : p) types.push_back(t.type());
        Trace& trace = current_trace();
        const RegionId region =
            trace_region(trace, types, [&](const Tensors& q) { return Tensors{Grower(seed, policy).loss(q)}; });
        if (shuffled) shuffle_ops(trace, region, rng);
        return inline_region(trace, region, p)[0];
      };
      Graph graph = gradient_graph(loss, args);
      run_passes(graph, {}, Mesh());
      return to_string(graph);
    };
    ASSERT_EQ(program(true), program(false)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tenon
