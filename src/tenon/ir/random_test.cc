#include "tenon/ir/random.h"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "tenon/ir/element_counter.h"
#include "tenon/ir/interpreter.h"
#include "tenon/ir/ops.h"

namespace tenon {
namespace {

using ::testing::ElementsAre;

std::vector<Literal> run(const std::function<std::vector<Tensor>()>& body) {
  return interpret(make_graph({}, [&](const auto&) { return body(); }), {});
}
Literal run1(const std::function<Tensor()>& body) {
  return run([&] { return std::vector<Tensor>{body()}; })[0];
}

std::vector<uint32_t> words(const Literal& x) {
  std::vector<uint32_t> out;
  for (int64_t i = 0; i < x.size(); ++i) out.push_back(static_cast<uint32_t>(x.as_int(i)));
  return out;
}

Tensor u32s(std::vector<int64_t> values, Dims dims) { return constant(Literal::from(DType::u32, dims, values)); }

// One block, by the recurrence of the paper in plain integers.
std::pair<uint32_t, uint32_t> reference_block(uint32_t k0, uint32_t k1, uint32_t x0, uint32_t x1) {
  const uint32_t schedule[3] = {k0, k1, k0 ^ k1 ^ 0x1BD11BDA};
  const int rotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
  x0 += k0;
  x1 += k1;
  for (uint32_t round = 0; round < 20; ++round) {
    x0 += x1;
    x1 = std::rotl(x1, rotations[round % 8]) ^ x0;
    if (round % 4 == 3) {
      const uint32_t j = round / 4 + 1;
      x0 += schedule[j % 3];
      x1 += schedule[(j + 1) % 3] + j;
    }
  }
  return {x0, x1};
}

// The known answers that the authors publish with Random123.
TEST(Threefry, GivesThePublishedAnswers) {
  struct Answer {
    int64_t key[2], counter[2];
    uint32_t block[2];
  };
  const Answer answers[] = {
      {{0, 0}, {0, 0}, {0x6b200159, 0x99ba4efe}},
      {{0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}, {0x1cb996fc, 0xbb002be7}},
      {{0x13198a2e, 0x03707344}, {0x243f6a88, 0x85a308d3}, {0xc4923a9c, 0x483df7a0}},
  };
  for (const Answer& a : answers) {
    const auto out = run([&] {
      const RandomWords w =
          threefry2x32(u32s({a.key[0], a.key[1]}, {2}), u32s({a.counter[0]}, {}), u32s({a.counter[1]}, {}));
      return std::vector<Tensor>{w.first, w.second};
    });
    EXPECT_THAT(words(out[0]), ElementsAre(a.block[0]));
    EXPECT_THAT(words(out[1]), ElementsAre(a.block[1]));
  }
}

TEST(Random, BitsAreTheBlocksOfTheRowMajorIndex) {
  const auto bits = words(run1([] { return random_bits(make_key(0x0123456789abcdef), {2, 1, 3}); }));
  ASSERT_EQ(bits.size(), 6u);
  for (uint32_t i = 0; i < 6; ++i) EXPECT_EQ(bits[i], reference_block(0x01234567, 0x89abcdef, i, 0).first);
}

TEST(Random, DrawsOfAScalarAndOfNothing) {
  EXPECT_THAT(words(run1([] { return random_bits(make_key(7), {}); })), ElementsAre(reference_block(0, 7, 0, 0).first));
  EXPECT_EQ(run1([] { return random_normal(make_key(7), {3, 0, 2}, DType::f32); }).type(),
            (TensorType{DType::f32, {3, 0, 2}}));
}

TEST(Random, CounterCarriesIntoTheHighWord) {
  const auto out = run([] {
    const ElementCounter c = element_counter({2, 3, 2}, 1, {3'000'000'000, 1});
    return std::vector<Tensor>{c.low, c.high};
  });
  EXPECT_THAT(words(out[0]), ElementsAre(0, 1, 3'000'000'000, 3'000'000'001, 1'705'032'704, 1'705'032'705,  //
                                         0, 1, 3'000'000'000, 3'000'000'001, 1'705'032'704, 1'705'032'705));
  EXPECT_THAT(words(out[1]), ElementsAre(0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1));
}

// Only shapes: nothing of this size is computed.
TEST(Random, DrawsBeyondTwoToThe32Trace) {
  const Graph graph = make_graph(
      {}, [](const auto&) -> std::vector<Tensor> { return {random_bits(make_key(1), {5, int64_t{1} << 31})}; });
  EXPECT_EQ(graph.result_types()[0], (TensorType{DType::u32, {5, int64_t{1} << 31}}));
}

TEST(Random, BatchedDrawsEqualSingleOnes) {
  const Dims shape = {3, 5};
  const auto out = run([&] {
    const Tensor key = make_key(11);
    const Tensor keys = fold_in(key, iota({DType::i32, {4}}, 0));
    std::vector<Tensor> result = {random_bits(keys, shape), random_normal(keys, shape, DType::f32),
                                  random_uniform(keys, shape, DType::f64)};
    for (uint32_t i = 0; i < 4; ++i) {
      const Tensor one = fold_in(key, i);
      result.push_back(random_bits(one, shape));
      result.push_back(random_normal(one, shape, DType::f32));
      result.push_back(random_uniform(one, shape, DType::f64));
    }
    return result;
  });
  for (size_t kind = 0; kind < 3; ++kind) {
    for (size_t b = 0; b < 4; ++b) {
      const Literal& one = out[3 + 3 * b + kind];
      const auto row = out[kind].bytes().subspan(b * one.bytes().size(), one.bytes().size());
      EXPECT_TRUE(std::equal(row.begin(), row.end(), one.bytes().begin())) << kind << " " << b;
    }
  }
}

TEST(Random, FoldsOfIntegersNamesAndDrawsAreDifferentBlocks) {
  const auto out = run([] {
    const Tensor key = make_key(3);
    const Tensor i = constant(Literal::scalar_int(DType::i32, -1)),
                 u = constant(Literal::scalar_int(DType::u32, 0xffffffff));
    return std::vector<Tensor>{fold_in(key, 5), fold_in(key, "dropout"), fold_in(key, ""),
                               fold_in(key, i), fold_in(key, u),         fold_in(fold_in(key, "a"), "b")};
  });
  const auto expect = [&](size_t i, std::pair<uint32_t, uint32_t> block) {
    EXPECT_THAT(words(out[i]), ElementsAre(block.first, block.second)) << i;
  };
  expect(0, reference_block(0, 3, 5, 0x80000000));
  // FNV-1a 64 of "dropout" and "", computed apart.
  expect(1, reference_block(0, 3, 0xc02b510, 0xa13b29c6 | 0xC0000000));
  expect(2, reference_block(0, 3, 0x84222325, 0xCBF29CE4 | 0xC0000000));
  EXPECT_EQ(out[3], out[4]);
  std::set<std::vector<uint32_t>> distinct;
  for (const Literal& key : out) distinct.insert(words(key));
  EXPECT_EQ(distinct.size(), 5u);
}

TEST(Random, FoldBroadcastsKeysAndData) {
  const auto out = run([] {
    const Tensor keys = fold_in(make_key(1), iota({DType::u32, {2}}, 0));
    const Tensor data = iota({DType::i32, {3, 1}}, 0);
    return std::vector<Tensor>{fold_in(keys, data), fold_in(fold_in(make_key(1), 1), 2), fold_in(keys, "x"),
                               fold_in(fold_in(make_key(1), 1), "x")};
  });
  ASSERT_EQ(out[0].dims(), (Dims{3, 2, 2}));
  EXPECT_EQ(out[0].as_int(10), out[1].as_int(0));
  EXPECT_EQ(out[0].as_int(11), out[1].as_int(1));
  EXPECT_EQ(out[2].as_int(2), out[3].as_int(0));
  EXPECT_EQ(out[2].as_int(3), out[3].as_int(1));
}

TEST(Random, UniformIsTheTopBitsOfTheWord) {
  for (const auto& [dtype, p] : {std::pair{DType::f32, 24}, {DType::f16, 11}, {DType::bf16, 8}, {DType::f8e4m3fn, 4}}) {
    const Literal u = run1([&, d = dtype] { return random_uniform(make_key(9), {64}, d); });
    for (uint32_t i = 0; i < 64; ++i) {
      EXPECT_EQ(u.as_double(i), std::ldexp(reference_block(0, 9, i, 0).first >> (32 - p), -p)) << to_string(dtype);
    }
  }
  const Literal wide = run1([] { return random_uniform(make_key(9), {64}, DType::f64); });
  for (uint32_t i = 0; i < 64; ++i) {
    const auto [hi, lo] = reference_block(0, 9, i, 0);
    EXPECT_EQ(wide.as_double(i), std::ldexp((uint64_t{hi >> 5} << 26) | (lo >> 6), -53));
  }
}

struct Moments {
  double mean = 0, variance = 0, fourth = 0, largest = 0;
};
Moments moments(const Literal& x) {
  Moments m;
  const auto n = static_cast<double>(x.size());
  for (double v : x.to_doubles()) m.mean += v / n, m.largest = std::max(m.largest, std::fabs(v));
  for (double v : x.to_doubles()) m.variance += std::pow(v - m.mean, 2) / n, m.fourth += std::pow(v - m.mean, 4) / n;
  return m;
}

// Bounds are five standard errors of 40000 draws.
TEST(Random, MomentsOfTheDistributions) {
  const Dims shape = {200, 200};
  const Moments uniform = moments(run1([&] { return random_uniform(make_key(1), shape, DType::f32); }));
  EXPECT_NEAR(uniform.mean, 0.5, 0.0072);
  EXPECT_NEAR(uniform.variance, 1.0 / 12, 0.0019);
  EXPECT_LT(uniform.largest, 1);
  const Moments normal = moments(run1([&] { return random_normal(make_key(2), shape, DType::f32); }));
  EXPECT_NEAR(normal.mean, 0, 0.025);
  EXPECT_NEAR(normal.variance, 1, 0.036);
  EXPECT_NEAR(normal.fourth, 3, 0.25);
  EXPECT_GT(normal.largest, 3.5);
  const Moments cut = moments(run1([&] { return random_truncated_normal(make_key(3), shape, DType::f32); }));
  EXPECT_NEAR(cut.mean, 0, 0.022);
  EXPECT_NEAR(cut.variance, 0.77374, 0.017);
  EXPECT_LE(cut.largest, 2);
  EXPECT_GT(cut.largest, 1.99);
}

// The normal is the inverse of the distribution function: Phi(z) gives the uniform back.
TEST(Random, NormalInvertsTheDistributionFunction) {
  const auto out = run([] {
    return std::vector<Tensor>{random_normal(make_key(4), {20000}, DType::f32), random_bits(make_key(4), {20000}),
                               random_truncated_normal(make_key(4), {20000}, DType::f64)};
  });
  for (int64_t i = 0; i < 20000; ++i) {
    const double x = std::ldexp(2.0 * static_cast<double>(out[1].as_int(i) >> 8) + 1 - 0x1p24, -24);
    const double z = out[0].as_double(i), t = out[2].as_double(i);
    EXPECT_NEAR(std::erf(z / std::sqrt(2.0)), x, 4e-7) << z;
    EXPECT_NEAR(std::erf(t / std::sqrt(2.0)), x * std::erf(std::sqrt(2.0)), 4e-7) << t;
  }
}

TEST(Random, NeighboursAndKeysAreUncorrelated) {
  const auto out = run([] {
    const Tensor key = make_key(8);
    return std::vector<Tensor>{random_normal(fold_in(key, 0), {10000}, DType::f32),
                               random_normal(fold_in(key, 1), {10000}, DType::f32)};
  });
  double lag = 0, cross = 0;
  for (int64_t i = 0; i + 1 < 10000; ++i) {
    lag += out[0].as_double(i) * out[0].as_double(i + 1) / 10000;
    cross += out[0].as_double(i) * out[1].as_double(i) / 10000;
  }
  EXPECT_NEAR(lag, 0, 0.05);
  EXPECT_NEAR(cross, 0, 0.05);
}

ErrorCode code_of(const std::function<Tensor()>& body) {
  try {
    run1(body);
  } catch (const Error& e) {
    return e.code();
  }
  return ErrorCode::internal;
}

TEST(Random, WrongKeysAndDtypesThrow) {
  EXPECT_EQ(code_of([] { return random_bits(u32s({1, 2, 3}, {3}), {2}); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([] { return random_bits(zeros({DType::i32, {2}}), {2}); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([] { return random_bits(zeros({DType::u32, {}}), {2}); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([] { return random_uniform(make_key(1), {2}, DType::i32); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([] { return random_normal(make_key(1), {2}, DType::u32); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([] { return random_truncated_normal(make_key(1), {2}, DType::i1); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([] { return fold_in(make_key(1), zeros({DType::f32, {}})); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([] { return random_bits(make_key(1), {-1}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { return threefry2x32(make_key(1), zeros({DType::u32, {2}}), zeros({DType::u32, {3}})).first; }),
            ErrorCode::shape_mismatch);
}

}  // namespace
}  // namespace tenon
