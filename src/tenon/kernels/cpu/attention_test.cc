// The CPU's attention against the definition in plain loops of f64.
#include "tenon/kernels/cpu/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "tenon/base/shape.h"

namespace tenon {
namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

struct AttentionCase {
  int64_t B = 1, N = 1, K = 1, T = 1, S = 1, H = 1;
  double logit_cap = 0;
  bool causal = true, segments = true;
  int64_t window = 0;
};

// A case with arrays: [B,T,N,H] for queries, [B,S,K,H] for keys. Three segments a row, cut at places that fit no block.
struct AttentionProblem {
  explicit AttentionProblem(const AttentionCase& c)
      : shape{c.B,
              c.N,
              c.K,
              c.T,
              c.S,
              c.H,
              Element::f32,
              {c.T * c.N * c.H, c.H, c.N * c.H},
              {c.S * c.K * c.H, c.H, c.K * c.H},
              1 / std::sqrt(static_cast<double>(c.H)),
              c.logit_cap,
              c.causal,
              c.segments,
              c.window} {
    std::mt19937 rng(7);
    std::normal_distribution<float> normal;
    const auto draw = [&](Floats& x, int64_t size) {
      x.resize(as_size(size));
      for (float& v : x) v = normal(rng);
    };
    const int64_t queries = c.B * c.T * c.N * c.H, keys = c.B * c.S * c.K * c.H, rows = c.B * c.N * c.T;
    for (Floats* x : {&query, &context_ct, &context, &query_ct}) draw(*x, queries);
    for (Floats* x : {&key, &value, &key_ct, &value_ct}) draw(*x, keys);
    for (Floats* x : {&lse, &lse_ct}) draw(*x, rows);
    place(c.T, query_positions, query_segments);
    place(c.S, key_positions, key_segments);
  }
  void place(int64_t tokens, std::vector<int32_t>& positions, std::vector<int32_t>& segments) const {
    for (int64_t b = 0; b < shape.B; ++b) {
      int32_t position = 0, segment = 1;
      for (int64_t t = 0; t < tokens; ++t) {
        if (t == tokens / 3 || t == tokens * 3 / 4 + b) {
          ++segment;
          position = 0;
        }
        positions.push_back(position++);
        segments.push_back(segment);
      }
    }
  }
  AttentionPlaces places() const {
    return {query_positions.data(), key_positions.data(), query_segments.data(), key_segments.data()};
  }
  void run(const Workers& workers = {}) {
    attention_forward(shape, {query.data(), key.data(), value.data(), places(), context.data(), lse.data()}, workers);
    attention_backward(shape,
                       {query.data(), key.data(), value.data(), places(), context.data(), context_ct.data(), lse.data(),
                        lse_ct.data(), query_ct.data(), key_ct.data(), value_ct.data()},
                       workers);
  }
  bool visible(int64_t b, int64_t t, int64_t s) const {
    const int64_t q = query_positions[as_size(b * shape.T + t)], k = key_positions[as_size(b * shape.S + s)];
    return (!shape.causal || k <= q) && (shape.window == 0 || q - k < shape.window) &&
           (!shape.segments || query_segments[as_size(b * shape.T + t)] == key_segments[as_size(b * shape.S + s)]);
  }
  size_t query_at(int64_t b, int64_t n, int64_t t) const {
    return as_size(((b * shape.T + t) * shape.N + n) * shape.H);
  }
  size_t key_at(int64_t b, int64_t k, int64_t s) const { return as_size(((b * shape.S + s) * shape.K + k) * shape.H); }

  AttentionShape shape;
  Floats query, key, value, context_ct, lse_ct, context, lse, query_ct, key_ct, value_ct;
  std::vector<int32_t> query_positions, key_positions, query_segments, key_segments;
};

struct Reference {
  Doubles context, lse, query_ct, key_ct, value_ct;
};

double dot(const Floats& a, size_t i, const Floats& b, size_t j, int64_t n) {
  double sum = 0;
  for (size_t h = 0; h < as_size(n); ++h) sum += static_cast<double>(a[i + h]) * b[j + h];
  return sum;
}

// One query: its row of weights, and what it adds to the cotangents.
void reference_row(const AttentionProblem& p, int64_t b, int64_t n, int64_t t, Reference& out) {
  const AttentionShape& s = p.shape;
  const int64_t k = n / (s.N / s.K);
  const size_t q = p.query_at(b, n, t), row = as_size((b * s.N + n) * s.T + t);
  Doubles logits(as_size(s.S));
  double sum = 0;
  for (int64_t j = 0; j < s.S; ++j) {
    double x = dot(p.query, q, p.key, p.key_at(b, k, j), s.H) * s.scale;
    if (s.logit_cap > 0) x = std::tanh(x / s.logit_cap) * s.logit_cap;
    logits[as_size(j)] = x;
    if (p.visible(b, t, j)) sum += std::exp(x);
  }
  out.lse[row] = std::log(sum);
  double delta = -p.lse_ct[row];
  Doubles weights(as_size(s.S));
  for (int64_t j = 0; j < s.S; ++j) {
    weights[as_size(j)] = p.visible(b, t, j) ? std::exp(logits[as_size(j)]) / sum : 0;
    for (size_t h = 0; h < as_size(s.H); ++h) {
      const double part = weights[as_size(j)] * p.value[p.key_at(b, k, j) + h];
      out.context[q + h] += part;
      delta += part * p.context_ct[q + h];
    }
  }
  for (int64_t j = 0; j < s.S; ++j) {
    const size_t at = p.key_at(b, k, j);
    double ct = weights[as_size(j)] * (dot(p.context_ct, q, p.value, at, s.H) - delta) * s.scale;
    if (s.logit_cap > 0) ct *= 1 - std::pow(logits[as_size(j)] / s.logit_cap, 2);
    for (size_t h = 0; h < as_size(s.H); ++h) {
      out.query_ct[q + h] += ct * p.key[at + h];
      out.key_ct[at + h] += ct * p.query[q + h];
      out.value_ct[at + h] += weights[as_size(j)] * p.context_ct[q + h];
    }
  }
}

Reference reference(const AttentionProblem& p) {
  Reference out{Doubles(p.query.size()), Doubles(p.lse.size()), Doubles(p.query.size()), Doubles(p.key.size()),
                Doubles(p.key.size())};
  for (int64_t b = 0; b < p.shape.B; ++b) {
    for (int64_t n = 0; n < p.shape.N; ++n) {
      for (int64_t t = 0; t < p.shape.T; ++t) reference_row(p, b, n, t, out);
    }
  }
  return out;
}

void expect_close(const char* what, const Floats& got, const Doubles& want, double tolerance = 2e-6) {
  double largest = 0, difference = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    largest = std::max(largest, std::fabs(want[i]));
    difference = std::isnan(got[i]) ? std::numeric_limits<double>::infinity()
                                    : std::max(difference, std::fabs(got[i] - want[i]));
  }
  EXPECT_LE(difference, tolerance * std::max(largest, 0.5)) << what;
}

void expect_reference(const AttentionProblem& p) {
  const Reference want = reference(p);
  expect_close("context", p.context, want.context);
  expect_close("lse", p.lse, want.lse);
  expect_close("query cotangent", p.query_ct, want.query_ct);
  expect_close("key cotangent", p.key_ct, want.key_ct);
  expect_close("value cotangent", p.value_ct, want.value_ct);
}

TEST(CpuAttention, IsTheDefinition) {
  const AttentionCase cases[] = {{.B = 2, .N = 2, .K = 2, .T = 150, .S = 150, .H = 32},
                                 {.N = 4, .K = 2, .T = 100, .S = 100, .H = 20},
                                 {.N = 3, .K = 1, .T = 129, .S = 129, .H = 7, .window = 10},
                                 {.T = 65, .S = 65, .H = 64, .logit_cap = 2},
                                 {.N = 2, .K = 1, .T = 70, .S = 70, .H = 96, .logit_cap = 3, .window = 64},
                                 {.T = 50, .S = 131, .H = 8, .causal = false, .segments = false},
                                 {.T = 131, .S = 131, .H = 130, .causal = false},
                                 {.T = 300, .S = 300, .H = 16, .segments = false, .window = 5},
                                 {.T = 1, .S = 1, .H = 1},
                                 {.T = 1025, .S = 64, .H = 4, .causal = false, .segments = false}};
  for (const AttentionCase& c : cases) {
    SCOPED_TRACE(testing::Message() << "T " << c.T << " S " << c.S << " H " << c.H << " window " << c.window);
    AttentionProblem p(c);
    p.run();
    expect_reference(p);
  }
}

std::vector<uint16_t> to_bf16(const Floats& x) {
  std::vector<uint16_t> out;
  for (const float v : x) {
    uint32_t bits;
    std::memcpy(&bits, &v, sizeof(bits));
    out.push_back(static_cast<uint16_t>(std::isnan(v) ? 0x7FC0 : (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16));
  }
  return out;
}
Floats of_bf16(const std::vector<uint16_t>& x) {
  Floats out(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const uint32_t bits = static_cast<uint32_t>(x[i]) << 16;
    std::memcpy(&out[i], &bits, sizeof(bits));
  }
  return out;
}

// As AttentionProblem::run, but with arrays of bf16, to which the inputs are rounded first.
void run_in_bf16(AttentionProblem& p) {
  p.shape.element = Element::bf16;
  const auto q = to_bf16(p.query), k = to_bf16(p.key), v = to_bf16(p.value), ct = to_bf16(p.context_ct);
  p.query = of_bf16(q), p.key = of_bf16(k), p.value = of_bf16(v), p.context_ct = of_bf16(ct);
  auto context = to_bf16(p.context), query_ct = context, key_ct = k, value_ct = k;
  attention_forward(p.shape, {q.data(), k.data(), v.data(), p.places(), context.data(), p.lse.data()}, {});
  attention_backward(p.shape,
                     {q.data(), k.data(), v.data(), p.places(), context.data(), ct.data(), p.lse.data(),
                      p.lse_ct.data(), query_ct.data(), key_ct.data(), value_ct.data()},
                     {});
  p.context = of_bf16(context), p.query_ct = of_bf16(query_ct);
  p.key_ct = of_bf16(key_ct), p.value_ct = of_bf16(value_ct);
}

// Weights and their cotangents are rounded to bf16 on their way into products: two parts in a hundred of the largest.
TEST(CpuAttention, InBf16) {
  for (const AttentionCase& c : {AttentionCase{.B = 2, .N = 4, .K = 2, .T = 150, .S = 150, .H = 32},
                                 {.N = 3, .K = 1, .T = 129, .S = 129, .H = 7, .window = 10},
                                 {.N = 2, .K = 1, .T = 70, .S = 70, .H = 96, .logit_cap = 3, .window = 64},
                                 {.T = 50, .S = 131, .H = 8, .causal = false, .segments = false},
                                 {.T = 131, .S = 131, .H = 130, .causal = false},
                                 {.T = 1, .S = 1, .H = 1}}) {
    SCOPED_TRACE(testing::Message() << "T " << c.T << " S " << c.S << " H " << c.H << " window " << c.window);
    AttentionProblem p(c);
    run_in_bf16(p);
    const Reference want = reference(p);
    expect_close("context", p.context, want.context, 2e-2);
    expect_close("lse", p.lse, want.lse, 2e-2);
    expect_close("query cotangent", p.query_ct, want.query_ct, 2e-2);
    expect_close("key cotangent", p.key_ct, want.key_ct, 2e-2);
    expect_close("value cotangent", p.value_ct, want.value_ct, 2e-2);
  }
}

TEST(CpuAttention, NaNInBf16StaysWhereItIsSeen) {
  AttentionProblem p({.T = 80, .S = 80, .H = 16, .segments = false});
  for (int64_t t = 0; t < 80; ++t)
    p.query_positions[as_size(t)] = p.key_positions[as_size(t)] = static_cast<int32_t>(t);
  p.key[40 * 16 + 3] = std::nanf("");
  run_in_bf16(p);
  for (size_t t = 0; t < 80; ++t) EXPECT_EQ(std::isnan(p.context[t * 16]), t >= 40) << t;
  EXPECT_TRUE(std::isnan(p.query_ct[79 * 16]));
}

TEST(CpuAttention, ThreadsChangeNoBit) {
  const AttentionCase c{.B = 2, .N = 4, .K = 2, .T = 1100, .S = 1100, .H = 16};
  AttentionProblem alone(c), together(c);
  alone.run();
  std::vector<std::thread> threads;
  together.run({5, [&](std::function<void()> f) { threads.emplace_back(std::move(f)); }});
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(alone.context, together.context);
  EXPECT_EQ(alone.lse, together.lse);
  EXPECT_EQ(alone.query_ct, together.query_ct);
  EXPECT_EQ(alone.key_ct, together.key_ct);
  EXPECT_EQ(alone.value_ct, together.value_ct);
}

TEST(CpuAttention, AQueryThatSeesNothingGivesNothing) {
  AttentionProblem p({.T = 60, .S = 60, .H = 16});
  for (int64_t t = 10; t < 60; ++t) p.query_segments[as_size(t)] = 9;
  p.run();
  for (size_t i = 10 * 16; i < p.context.size(); ++i) {
    EXPECT_EQ(p.context[i], 0) << i;
    EXPECT_EQ(p.query_ct[i], 0) << i;
  }
  for (size_t t = 10; t < 60; ++t) EXPECT_EQ(p.lse[t], -std::numeric_limits<float>::infinity());
  for (const float x : p.key_ct) EXPECT_TRUE(std::isfinite(x));
}

TEST(CpuAttention, NaNStaysWhereItIsSeen) {
  AttentionProblem p({.T = 80, .S = 80, .H = 16, .segments = false});
  for (int64_t t = 0; t < 80; ++t)
    p.query_positions[as_size(t)] = p.key_positions[as_size(t)] = static_cast<int32_t>(t);
  p.key[40 * 16 + 3] = std::nanf("");
  p.run();
  for (size_t t = 0; t < 80; ++t) EXPECT_EQ(std::isnan(p.context[t * 16]), t >= 40) << t;
  EXPECT_TRUE(std::isnan(p.query_ct[79 * 16]));
}

}  // namespace
}  // namespace tenon
