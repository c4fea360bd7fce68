// The CPU's products of matrices against plain loops of f64.
#include "tenon/kernels/cpu/dot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "tenon/base/shape.h"

namespace tenon {
namespace {

uint16_t to_bf16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return static_cast<uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}
float of_bf16(uint16_t x) {
  const uint32_t bits = static_cast<uint32_t>(x) << 16;
  float out;
  std::memcpy(&out, &bits, sizeof(out));
  return out;
}

// An array of floats or of bf16, each element given and read as a float.
struct Array {
  Array(Element e, int64_t size) : element(e), floats(as_size(size), -7), halves(as_size(size), to_bf16(-7)) {}
  void set(int64_t i, float x) {
    floats[as_size(i)] = x;
    halves[as_size(i)] = to_bf16(x);
  }
  float at(int64_t i) const { return element == Element::f32 ? floats[as_size(i)] : of_bf16(halves[as_size(i)]); }
  const void* data() const { return const_cast<Array*>(this)->data(); }
  void* data() { return element == Element::f32 ? static_cast<void*>(floats.data()) : halves.data(); }

  Element element;
  std::vector<float> floats;
  std::vector<uint16_t> halves;
};

struct DotProblem {
  explicit DotProblem(const DotShape& s) : shape(s), lhs(s.operands, s.M * s.K), rhs(s.operands, s.N * s.K) {
    std::mt19937 rng(3);
    std::normal_distribution<float> normal;
    for (Array* x : {&lhs, &rhs}) {
      for (int64_t i = 0; i < static_cast<int64_t>(x->floats.size()); ++i) x->set(i, normal(rng));
    }
  }
  int64_t lhs_at(int64_t m, int64_t k) const { return shape.lhs_by_depth ? k * shape.M + m : m * shape.K + k; }
  int64_t rhs_at(int64_t n, int64_t k) const { return shape.rhs_by_depth ? k * shape.N + n : n * shape.K + k; }
  double want(int64_t m, int64_t n) const {
    double sum = 0;
    for (int64_t k = 0; k < shape.K; ++k) sum += double{lhs.at(lhs_at(m, k))} * double{rhs.at(rhs_at(n, k))};
    return sum;
  }
  Array run(const Workers& workers = {}) const {
    Array out(shape.result, shape.M * shape.N);
    // Nothing is written behind what was asked for.
    std::vector<uint32_t> scratch(as_size(dot_scratch_words(shape)) + 16, 0xABCDEF01U);
    dot(shape, {lhs.data(), rhs.data(), out.data(), scratch.data()}, workers);
    for (size_t i = scratch.size() - 16; i < scratch.size(); ++i) EXPECT_EQ(scratch[i], 0xABCDEF01U);
    return out;
  }

  DotShape shape;
  Array lhs, rhs;
};

class CpuDot : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_dot()) GTEST_SKIP() << "this machine lacks the instructions";
  }
  // Sums of K products of normal numbers, relative to their size; a result in bf16 keeps 8 bits.
  static void expect_right(const DotShape& shape) {
    const DotProblem p(shape);
    const Array got = p.run();
    const double size = std::sqrt(static_cast<double>(shape.K));
    const double tolerance = shape.result == Element::bf16 ? 0x1p-8 : 0;
    for (int64_t m = 0; m < shape.M; ++m) {
      for (int64_t n = 0; n < shape.N; ++n) {
        const double want = p.want(m, n);
        ASSERT_NEAR(got.at(m * shape.N + n), want, 1e-5 * size + tolerance * std::fabs(want))
            << m << ", " << n << " of " << shape.M << " x " << shape.N << " over " << shape.K;
      }
    }
  }
};

TEST_F(CpuDot, IsTheSumOfProducts) {
  struct Size {
    int64_t M, N, K;
  };
  for (const Size& s : {Size{1, 1, 1}, {8, 48, 32}, {17, 50, 33}, {65, 97, 70}, {130, 16, 2}, {9, 400, 31}}) {
    for (const bool lhs_by_depth : {false, true}) {
      for (const bool rhs_by_depth : {false, true}) {
        for (const Element operands : {Element::f32, Element::bf16}) {
          for (const Element result : {Element::f32, Element::bf16}) {
            expect_right({s.M, s.N, s.K, lhs_by_depth, rhs_by_depth, operands, result});
          }
        }
      }
    }
  }
}

// Sums are then made in parts.
TEST_F(CpuDot, LongSums) {
  for (const Element element : {Element::f32, Element::bf16}) {
    expect_right({9, 20, 4097, true, true, element, Element::f32});
    expect_right({9, 20, 4097, false, false, element, element});
  }
}

TEST_F(CpuDot, NanAndInfinityReachTheirRowAlone) {
  for (const Element element : {Element::f32, Element::bf16}) {
    for (const bool lhs_by_depth : {false, true}) {
      DotProblem p({20, 50, 34, lhs_by_depth, false, element, element});
      p.lhs.floats[as_size(p.lhs_at(3, 7))] = std::numeric_limits<float>::quiet_NaN();
      p.lhs.halves[as_size(p.lhs_at(3, 7))] = 0x7FC0;
      p.lhs.floats[as_size(p.lhs_at(19, 33))] = std::numeric_limits<float>::infinity();
      p.lhs.halves[as_size(p.lhs_at(19, 33))] = 0x7F80;
      const Array got = p.run();
      for (int64_t m = 0; m < 20; ++m) {
        for (int64_t n = 0; n < 50; ++n) {
          const float x = got.at(m * 50 + n);
          EXPECT_EQ(std::isnan(x), m == 3);
          EXPECT_EQ(std::isinf(x), m == 19);
        }
      }
    }
  }
}

TEST_F(CpuDot, NumbersDontDependOnTheWorkers) {
  std::vector<std::thread> threads;
  const Workers workers{4, [&](std::function<void()> f) { threads.emplace_back(std::move(f)); }};
  for (const Element element : {Element::f32, Element::bf16}) {
    const DotProblem p({200, 500, 40, false, true, element, element});
    const Array alone = p.run(), together = p.run(workers);
    EXPECT_EQ(alone.floats, together.floats);
    EXPECT_EQ(alone.halves, together.halves);
  }
  for (std::thread& t : threads) t.join();
}

}  // namespace
}  // namespace tenon
