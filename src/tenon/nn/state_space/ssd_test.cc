// The recurrence by chunks against the formulas, token by token.
#include "tenon/nn/state_space/ssd.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/testing/evaluate.h"

namespace tenon {
namespace {

constexpr int64_t kB = 2, kT = 11, kG = 2, kR = 3, kP = 2, kN = 4;

struct Case {
  Values values;
  bool starts = true;
};

// `pace` stretches the step sizes: with 1, states halve in about two tokens.
Case random_case(double pace, bool starts) {
  std::mt19937 rng(7);
  std::normal_distribution<double> normal;
  const auto draw = [&](const Dims& dims, auto f) {
    std::vector<double> out(static_cast<size_t>(num_elements(dims)));
    for (double& x : out) x = f(normal(rng));
    return Literal::from(DType::f64, dims, out);
  };
  const auto plain = [](double x) { return x; };
  const auto positive = [&](double x) { return pace * std::exp(x) / 3; };
  Case out{{{"x", draw({kB, kT, kG, kR, kP}, plain)},
            {"b", draw({kB, kT, kG, kN}, plain)},
            {"c", draw({kB, kT, kG, kN}, plain)},
            {"dt", draw({kB, kT, kG, kR}, positive)},
            {"a", draw({kG, kR}, [](double x) { return -std::exp(x / 2); })},
            {"d", draw({kG, kR}, plain)},
            {"state", draw({kB, kG, kN, kR, kP}, plain)}},
           starts};
  Literal begins(TensorType{DType::i1, {kB, kT}});
  // At the start, in and between chunks, two in a row, at the end.
  for (const int64_t at : {2, 5, 6, 8, 11 + 0, 11 + 3, 11 + 4, 11 + 10}) begins.set_int(at, 1);
  if (starts) out.values.emplace("starts", begins);
  return out;
}

SsdInputs inputs_of(const Nest& in, bool starts) {
  return {in.at("x"), in.at("b"), in.at("c"), in.at("dt"), starts ? in.at("starts") : Tensor(), in.at("a"), in.at("d")};
}

// Row-major index.
int64_t at(const Dims& dims, const Dims& index) {
  int64_t out = 0;
  for (size_t i = 0; i < dims.size(); ++i) out = out * dims[i] + index[i];
  return out;
}

// The formulas of ssd.h, one number after another.
Values by_hand(const Case& c) {
  const auto get = [&](const char* name, const Dims& index) {
    const Literal& x = c.values.at(name);
    return x.as_double(at(x.dims(), index));
  };
  std::vector<double> y(kB * kT * kG * kR * kP), state(kB * kG * kN * kR * kP);
  for (int64_t b = 0; b < kB; ++b)
    for (int64_t g = 0; g < kG; ++g)
      for (int64_t r = 0; r < kR; ++r)
        for (int64_t p = 0; p < kP; ++p) {
          std::vector<double> s(kN);
          for (int64_t n = 0; n < kN; ++n) s[static_cast<size_t>(n)] = get("state", {b, g, n, r, p});
          for (int64_t t = 0; t < kT; ++t) {
            if (c.starts && c.values.at("starts").as_int(b * kT + t) != 0) std::fill(s.begin(), s.end(), 0.0);
            const double dt = get("dt", {b, t, g, r}), x = get("x", {b, t, g, r, p});
            double sum = get("d", {g, r}) * x;
            for (int64_t n = 0; n < kN; ++n) {
              double& now = s[static_cast<size_t>(n)];
              now = std::exp(dt * get("a", {g, r})) * now + dt * get("b", {b, t, g, n}) * x;
              sum += get("c", {b, t, g, n}) * now;
            }
            y[static_cast<size_t>(at({kB, kT, kG, kR, kP}, {b, t, g, r, p}))] = sum;
          }
          for (int64_t n = 0; n < kN; ++n) {
            state[static_cast<size_t>(at({kB, kG, kN, kR, kP}, {b, g, n, r, p}))] = s[static_cast<size_t>(n)];
          }
        }
  return {{"y", Literal::from(DType::f64, {kB, kT, kG, kR, kP}, y)},
          {"state", Literal::from(DType::f64, {kB, kG, kN, kR, kP}, state)}};
}

SsdOutputs token_by_token(const SsdInputs& in, Tensor state) {
  std::vector<Tensor> ys;
  for (int64_t t = 0; t < in.x.dim(1); ++t) {
    const auto one = [&](const Tensor& x) { return x ? slice_dim(x, 1, t, t + 1) : x; };
    const SsdOutputs out = ssd_step({one(in.x), one(in.b), one(in.c), one(in.dt), one(in.starts), in.a, in.d}, state);
    state = out.state;
    ys.push_back(out.y);
  }
  return {state, concatenate(ys, 1)};
}

TEST(Ssd, ChunksAndStepsAreTheFormulas) {
  for (const bool starts : {false, true}) {
    const Case c = random_case(1, starts);
    const Values want = by_hand(c);
    for (const int64_t size : {0, 1, 2, 4, 11, 16}) {  // 0: no chunks
      const Values got = evaluate({}, c.values, [&](const Nest&, const Nest& in) {
        const SsdInputs inputs = inputs_of(in, starts);
        const SsdOutputs out =
            size == 0 ? token_by_token(inputs, in.at("state")) : ssd_scan(inputs, in.at("state"), size);
        return Nest{{"y", out.y}, {"state", out.state}};
      });
      for (const char* name : {"y", "state"}) {
        EXPECT_EQ(difference(got.at(name), want.at(name), 1e-12), "") << name << " by chunks of " << size;
      }
    }
  }
}

// Of weighed sums of both results, by every input; steps of one token as the other way to compute.
Values gradients(const Case& c, int64_t chunk_size) {
  return evaluate({}, c.values, [&](const Nest&, const Nest& in) {
    const auto weigh = [](const Tensor& x) {
      const Tensor place = convert(iota({DType::i32, {num_elements(x.dims())}}, 0), x.dtype());
      return sum_all(reshape(x, {-1}) * sin(place));
    };
    Nest floats = in;
    floats.erase("starts");
    return grad(
        [&](Nest inner) {
          if (c.starts) inner.emplace("starts", in.at("starts"));
          const SsdInputs inputs = inputs_of(inner, c.starts);
          const SsdOutputs out = chunk_size == 0 ? token_by_token(inputs, inner.at("state"))
                                                 : ssd_scan(inputs, inner.at("state"), chunk_size);
          return weigh(out.y) + weigh(out.state);
        },
        floats);
  });
}

TEST(Ssd, GradientsOfChunksAreThoseOfSteps) {
  for (const bool starts : {false, true}) {
    const Case c = random_case(1, starts);
    const Values want = gradients(c, 0);
    ASSERT_EQ(want.size(), 7u);
    for (const int64_t size : {3, 16}) {
      const Values got = gradients(c, size);
      for (const auto& [name, value] : want) EXPECT_EQ(difference(got.at(name), value, 1e-11), "") << name;
    }
  }
}

// Decays of e^-1000 a token: products of factors that belong to no pair of tokens would overflow.
TEST(Ssd, StatesThatVanishAtOnce) {
  const Case c = random_case(1000, true);
  const Values want = by_hand(c), slow = gradients(c, 0), got = gradients(c, 4);
  const Values values = evaluate({}, c.values, [&](const Nest&, const Nest& in) {
    return Nest{{"y", ssd_scan(inputs_of(in, true), in.at("state"), 4).y}};
  });
  EXPECT_EQ(difference(values.at("y"), want.at("y"), 1e-12), "");
  // Decays are differences of sums over the chunk, here of thousands.
  for (const auto& [name, value] : slow) EXPECT_EQ(difference(got.at(name), value, 1e-8), "") << name;
}

// In bf16 the state stays f32, and what is rounded is each factor of a product.
TEST(Ssd, StatesAreWide) {
  const Case c = random_case(1, true);
  const Values got = evaluate({}, c.values, [&](const Nest&, const Nest& in) {
    SsdInputs inputs = inputs_of(in, true);
    for (Tensor* t : {&inputs.x, &inputs.b, &inputs.c}) *t = convert(*t, DType::bf16);
    for (Tensor* t : {&inputs.a, &inputs.d, &inputs.dt}) *t = convert(*t, DType::f32);
    const Tensor state = convert(in.at("state"), DType::f32);
    const SsdOutputs chunks = ssd_scan(inputs, state, 4), steps = token_by_token(inputs, state);
    EXPECT_EQ(chunks.y.dtype(), DType::bf16);
    EXPECT_EQ(chunks.state.dtype(), DType::f32);
    return Nest{{"chunks", convert(chunks.y, DType::f32)}, {"steps", convert(steps.y, DType::f32)}};
  });
  EXPECT_EQ(difference(got.at("chunks"), got.at("steps"), 2e-2), "");
}

// The largest array of a gradient, in elements.
int64_t largest_array(int64_t num_tokens, int64_t chunk_size) {
  const Dims tokens{1, num_tokens};
  const auto of = [](DType dtype, Dims dims, const Dims& rest) {
    dims.insert(dims.end(), rest.begin(), rest.end());
    return TensorType{dtype, dims};
  };
  const std::vector<TensorType> types{of(DType::f32, tokens, {1, 2, 2}), of(DType::f32, tokens, {1, 2}),
                                      of(DType::f32, tokens, {1, 2})};
  const Graph graph = make_graph(types, [&](const std::vector<Tensor>& args) {
    return grad(
        [&](const std::vector<Tensor>& in) {
          const Tensor heads = full({DType::f32, {1, 2}}, -1);
          const SsdOutputs out = ssd_scan({in[0], in[1], in[1], in[2], Tensor(), heads, heads},
                                          zeros({DType::f32, {1, 1, 2, 2, 2}}), chunk_size);
          return sum_all(out.y * out.y);
        },
        args);
  });
  int64_t most = 0;
  const std::function<void(RegionId)> visit = [&](RegionId region) {
    for (const OpId id : graph.trace->region(region).ops) {
      const OpInfo& op = graph.trace->op(id);
      for (const ValueId v : op.results) most = std::max(most, num_elements(graph.trace->value(v).type.dims));
      for (const RegionId inner : op.regions) visit(inner);
    }
  };
  visit(graph.root);
  return most;
}

TEST(Ssd, MemoryGrowsWithTheTokens) {
  const int64_t at_256 = largest_array(256, 8), at_1024 = largest_array(1024, 8);
  EXPECT_LE(at_1024, 4 * at_256);
  EXPECT_LT(at_1024, 1024 * 1024 / 8);
}

TEST(Ssd, SegmentsStartWhereTheirNumberChanges) {
  const Values ids{{"ids", Literal::from(DType::i32, {2, 5}, std::vector<double>{1, 1, 2, 2, 0, 0, 0, 1, 0, 0})}};
  const Literal got = evaluate({}, ids, [](const Nest&, const Nest& in) {
                        return Nest{{"", convert(segment_starts(in.at("ids")), DType::i32)}};
                      }).at("");
  EXPECT_THAT(got.to_doubles(), ::testing::ElementsAre(1, 0, 1, 0, 1, 0, 0, 1, 1, 0));
}

}  // namespace
}  // namespace tenon
