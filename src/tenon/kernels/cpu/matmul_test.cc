#include "tenon/kernels/cpu/matmul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <thread>
#include <vector>

namespace tenon {
namespace {

using Floats = std::vector<float>;
size_t z(int64_t n) { return static_cast<size_t>(n); }

struct Problem {
  explicit Problem(const MatmulShape& s) : shape(s), a(z(s.M * s.K)), b(z(s.K * s.N)), c(z(s.M * s.N), NAN) {
    std::mt19937 rng(3);
    std::normal_distribution<float> normal;
    for (Floats* x : {&a, &b}) {
      for (float& v : *x) v = normal(rng);
    }
  }
  double want(int64_t m, int64_t n) const {
    double sum = 0;
    for (int64_t k = 0; k < shape.K; ++k) {
      sum += static_cast<double>(a[z(shape.a_transposed ? k * shape.M + m : m * shape.K + k)]) *
             b[z(shape.b_transposed ? n * shape.K + k : k * shape.N + n)];
    }
    return sum;
  }
  MatmulShape shape;
  Floats a, b, c;
};

TEST(CpuMatmul, IsTheProduct) {
  for (const auto& [M, N, K] :
       {std::tuple{1, 1, 1}, {5, 3, 7}, {6, 64, 16}, {13, 70, 600}, {250, 130, 33}, {7, 520, 1030}, {3, 4, 0}}) {
    for (const bool a_transposed : {false, true}) {
      for (const bool b_transposed : {false, true}) {
        SCOPED_TRACE(testing::Message() << M << " " << N << " " << K << " " << a_transposed << b_transposed);
        Problem p({M, N, K, a_transposed, b_transposed});
        matmul(p.shape, p.a.data(), p.b.data(), p.c.data(), {});
        double worst = 0;
        for (int64_t m = 0; m < M; ++m) {
          for (int64_t n = 0; n < N; ++n) {
            const double off = std::fabs(p.c[z(m * N + n)] - p.want(m, n));
            worst = std::isnan(off) ? INFINITY : std::max(worst, off);
          }
        }
        EXPECT_LE(worst, 1e-5 * std::sqrt(K + 1));
      }
    }
  }
}

TEST(CpuMatmul, ThreadsChangeNoBit) {
  Problem alone({500, 700, 300, false, true}), together(alone.shape);
  matmul(alone.shape, alone.a.data(), alone.b.data(), alone.c.data(), {});
  std::vector<std::thread> threads;
  matmul(together.shape, together.a.data(), together.b.data(), together.c.data(),
         {4, [&](std::function<void()> f) { threads.emplace_back(std::move(f)); }});
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(alone.c, together.c);
}

}  // namespace
}  // namespace tenon
