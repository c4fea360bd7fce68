// Random programs of all kinds of numbers, regions and repetitions, run on infinities, NaN and numbers at the edge: no
// pass changes a result.
#include <gtest/gtest.h>

#include <algorithm>

#include "tenon/ir/interpreter.h"
#include "tenon/ir/op_def.h"
#include "tenon/ir/ops.h"
#include "tenon/ir/printer.h"
#include "tenon/ir/verify.h"
#include "tenon/passes/fold_constants.h"
#include "tenon/passes/pipeline.h"
#include "tenon/passes/simplify.h"
#include "tenon/passes/testing/special_values.h"

namespace tenon {
namespace {

using Tensors = std::vector<Tensor>;

const std::vector<TensorType> kInputs{{DType::f32, {2, 3}}, {DType::f64, {3}}, {DType::bf16, {2, 3}},
                                      {DType::i32, {2, 3}}, {DType::u8, {3}},  {DType::i1, {2, 3}},
                                      {DType::f32, {}},     {DType::i32, {}},  {DType::i1, {}}};

// Grows a program that is rich in what the rules look for: constants that are neutral, moves of moves, things twice.
class Grower {
 public:
  explicit Grower(unsigned seed) : rng_(seed) {}

  Tensors program(const Tensors& inputs) {
    Tensors pool = inputs;
    for (int i = 0; i < 40; ++i) pool.push_back(grow(pool, 2));
    return {pool.begin() + static_cast<int64_t>(inputs.size()), pool.end()};
  }

 private:
  size_t below(size_t n) { return rng_() % n; }
  // Late values more often than early ones.
  const Tensor& any(const Tensors& pool) {
    const size_t n = pool.size();
    return pool[below(3) == 0 ? below(n) : n - 1 - below(std::min<size_t>(n, 6))];
  }

  // A value of `pool` of this type, or one of the constants that rules ask for.
  Tensor like(const Tensors& pool, const TensorType& type) {
    std::vector<Tensor> same;
    for (const Tensor& t : pool) {
      if (t.type() == type) same.push_back(t);
    }
    if (!same.empty() && below(2) == 0) return same[below(same.size())];
    static const double numbers[] = {0, 1, 2, -0.0, -1, INFINITY, -INFINITY};
    const bool is_number = is_float(type.dtype);
    return full(type, is_number ? numbers[below(7)] : type.dtype == DType::i1 ? below(2) : numbers[below(3)]);
  }

  Tensor unary(const Tensor& x) {
    if (x.dtype() == DType::i1) return logical_not(x);
    if (!is_float(x.dtype())) return below(2) == 0 ? neg(x) : logical_not(x);
    switch (below(5)) {
      case 0:
        return abs(x);
      case 1:
        return tanh(x);
      case 2:
        return tag(stop_gradient(x), "t");
      default:
        return neg(x);
    }
  }

  Tensor binary(const Tensor& a, const Tensor& b) {
    switch (below(x_is_bits(a) ? 8 : 6)) {
      case 0:
        return a.dtype() == DType::i1 ? logical_and(a, b) : add(a, b);
      case 1:
        return a.dtype() == DType::i1 ? logical_or(a, b) : sub(a, b);
      case 2:
        return a.dtype() == DType::i1 ? logical_xor(a, b) : mul(a, b);
      case 3:
        return a.dtype() == DType::i1 ? logical_and(b, a) : div(a, b);
      case 4:
        return maximum(a, b);
      case 5:
        return minimum(a, b);
      case 6:
        return logical_and(a, b);
      default:
        return logical_or(a, b);
    }
  }
  static bool x_is_bits(const Tensor& x) { return !is_float(x.dtype()); }

  Tensor choose(const Tensors& pool, const Tensor& a) {
    const Tensor b = like(pool, a.type()), c = like(pool, {DType::i1, a.dims()});
    switch (below(4)) {
      case 0:
        return select(logical_not(c), a, b);
      case 1:
        return select(c, select(c, a, b), a);
      case 2:
        return a.dtype() == DType::i1 ? a : less(a, b);
      default:
        return select(c, a, b);
    }
  }

  Tensor move(const Tensors& pool, const Tensor& x) {
    const int64_t rank = x.rank();
    if (rank == 0) return below(2) == 0 ? broadcast_to(x, {2, 3}) : reshape(x, {1});
    const int64_t dim = static_cast<int64_t>(below(static_cast<size_t>(rank)));
    Tensors index;
    for (int64_t d = 0; d < rank; ++d) index.push_back(like(pool, {DType::i32, {}}));
    switch (below(11)) {
      case 0:
        return reshape(x, {-1});
      case 1:
        return rank < 3 ? expand_dims(x, dim) : reshape(x, {-1});
      case 2:
        if (rank == 1) return broadcast_to(x, {2, x.dim(0)});
        return rank == 2 ? transpose(x, {1, 0}) : transpose(x, {2, 0, 1});
      case 3:
        return reverse(below(2) == 0 ? reverse(x, {dim}) : x, {dim});
      case 4:
        return slice_dim(x, dim, x.dim(dim) / 2, x.dim(dim));
      case 5:
        return slice_dim(concatenate(Tensors{x, like(pool, x.type())}, dim), dim, 0, x.dim(dim));
      case 6:
        return concatenate(Tensors{slice_dim(x, dim, 0, x.dim(dim) / 2), slice_dim(x, dim, x.dim(dim) / 2, x.dim(dim))},
                           dim);
      case 7:
        return dynamic_slice(x, index, x.dims());
      case 8:
        return dynamic_update_slice(x, below(2) == 0 ? unary(x) : slice_dim(x, dim, 0, x.dim(dim) / 2), index);
      case 9:
        return pad(x, like(pool, {x.dtype(), {}}), Dims(static_cast<size_t>(rank), 1),
                   Dims(static_cast<size_t>(rank), -1));
      default: {
        if (rank == 3) return squeeze(slice_dim(x, 0, 0, 1), 0);
        Dims wider = x.dims();
        const bool behind = below(2) == 0;
        wider.insert(behind ? wider.end() : wider.begin(), 2);
        return broadcast_to(behind ? expand_dims(x, -1) : x, wider);
      }
    }
  }

  Tensor converted(const Tensor& x) {
    static const DType dtypes[] = {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i32,
                                   DType::i64, DType::i8,  DType::u8,   DType::u32, DType::i1};
    return convert(x, dtypes[below(std::size(dtypes))]);
  }

  Tensor region(const Tensors& pool, int depth) {
    const Tensor x = any(pool);
    Trace& trace = *x.trace();
    const auto grown = [&](const Tensors& inside) {
      Tensors inner = pool;
      inner.insert(inner.end(), inside.begin(), inside.end());
      for (int i = 0; i < 4; ++i) inner.push_back(grow(inner, depth - 1));
      return inner.back();
    };
    if (below(2) == 0) {
      const auto then = [&] { return Tensors{select(like(pool, {DType::i1, x.dims()}), x, fit(grown({}), x.type()))}; };
      const auto otherwise = [&] { return Tensors{unary(x)}; };
      if (below(2) == 0) return cond(like(pool, {DType::i1, {}}), then, otherwise)[0];
      return switch_case(like(pool, {DType::i32, {}}), {otherwise, then, [&] { return Tensors{x}; }})[0];
    }
    const std::vector<TensorType> params{{DType::i32, {}}, x.type()};
    const RegionId body = trace_region(trace, params, [&](const Tensors& p) {
      const Tensor out = grown(p);
      return Tensors{fit(out, x.type()), out};
    });
    const std::vector<Tensor> out = scan_op(body, 2, {x}, {}, below(2) == 0);
    return below(2) == 0 ? out[0] : slice_dim(out[1], 0, 0, 1);
  }

  // Something of this type made of `x`.
  static Tensor fit(const Tensor& x, const TensorType& type) {
    const Tensor one = convert(x.type() == type ? x : reshape(slice(reshape(x, {-1}), {0}, {1}), {}), type.dtype);
    return broadcast_to(one, type.dims);
  }

  static Tensor small(const Tensor& x) {
    const int64_t n = num_elements(x.dims());
    if (n == 0) return reshape(pad(reshape(x, {-1}), zeros({x.dtype(), {}}), {0}, {1}), {});
    if (n > 24) return slice(reshape(x, {-1}), {0}, {24});
    return x.rank() > 3 ? reshape(x, {-1}) : x;
  }

  Tensor grow(const Tensors& pool, int depth) {
    const Tensor& x = any(pool);
    switch (below(depth > 0 ? 12 : 11)) {
      case 0:
      case 1:
        return unary(x);
      case 2:
      case 3:
      case 4:
        return binary(x, like(pool, x.type()));
      case 5:
        return choose(pool, x);
      case 6:
        return converted(converted(x));
      case 7:
        return optimization_barrier({x})[0];
      case 11:
        return small(region(pool, depth));
      default:
        return small(move(pool, x));
    }
  }

  std::mt19937 rng_;
};

TEST(RandomPrograms, NoPassChangesAResult) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    Graph graph = make_graph(kInputs, [&](const Tensors& inputs) { return Grower(seed).program(inputs); });
    std::vector<std::vector<Literal>> args, want;
    for (unsigned i = 0; i < 3; ++i) {
      args.push_back(special_values(kInputs, 3 * seed + i));
      want.push_back(interpret(graph, args.back()));
    }
    run_passes(graph, {}, Mesh(), [&](const Pass* pass, const Graph& g) {
      if (pass == nullptr) return;
      verify(g);
      for (size_t i = 0; i < args.size(); ++i) {
        ASSERT_TRUE(same_results(interpret(g, args[i]), want[i])) << pass->name << ", seed " << seed;
      }
    });
  }
}

// The programs above would be no test of a rule that never applies to one.
TEST(RandomPrograms, EveryRuleApplies) {
  for (const auto rules : {constant_rules(), arithmetic_rules(), shape_rules()}) {
    for (const SimplifyRule& rule : rules) {
      if (rule.name == "repeated_sharding") continue;
      const auto applies = [&](unsigned seed) {
        Graph graph = make_graph(kInputs, [&](const Tensors& inputs) { return Grower(seed).program(inputs); });
        const std::string before = to_string(graph);
        simplify(graph, {&rule, 1});
        return to_string(graph) != before;
      };
      unsigned seed = 0;
      while (seed < 1000 && !applies(seed)) ++seed;
      EXPECT_LT(seed, 1000U) << rule.name;
    }
  }
}

TEST(RandomPrograms, EachPassTwiceIsThePassOnce) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    for (const Pass& pass : passes()) {
      Graph graph = make_graph(kInputs, [&](const Tensors& inputs) { return Grower(seed).program(inputs); });
      PassContext context{{}, Mesh()};
      pass.run(graph, context);
      const std::string once = to_string(graph);
      pass.run(graph, context);
      ASSERT_EQ(to_string(graph), once) << pass.name << ", seed " << seed;
    }
  }
}

// What the last passes make equal or constant may let the first do more, so not every program is done after one round;
// but none grows.
TEST(RandomPrograms, AnotherRoundNeverGrowsThem) {
  int done = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    Graph graph = make_graph(kInputs, [&](const Tensors& inputs) { return Grower(seed).program(inputs); });
    run_passes(graph, {}, Mesh());
    const std::string once = to_string(graph);
    run_passes(graph, {}, Mesh());
    const std::string twice = to_string(graph);
    ASSERT_LE(std::ranges::count(twice, '\n'), std::ranges::count(once, '\n')) << "seed " << seed;
    done += once == twice;
  }
  EXPECT_GE(done, 130);
}

}  // namespace
}  // namespace tenon
