// What the machine's cores can do at most: GFLOP/s of fused multiply-adds in registers, on every core at once, by the
// time each spent on them, so that what else the machine does doesn't count. One line, "F32 BF16"; where there are no
// products of bf16 pairs, bf16 is what f32 gives.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <thread>
#include <vector>

#if defined(__AVX512BF16__)
#include <immintrin.h>
#endif

namespace {

#if defined(__AVX512F__)
typedef float Vector __attribute__((vector_size(64)));
#else
typedef float Vector __attribute__((vector_size(32)));
#endif
constexpr int kSums = 12;  // chains enough to hide the latency of each
constexpr long kRounds = 4'000'000;
constexpr double kFlop = 2.0 * kSums * sizeof(Vector) / sizeof(float) * kRounds;

void keep(Vector (&sums)[kSums]) {
  for (Vector& sum : sums) asm volatile("" : "+x"(sum));
}

void run_f32() {
  Vector sums[kSums] = {}, x = Vector{} + 1.0f, y = Vector{} + 1e-9f;
  asm volatile("" : "+x"(x), "+x"(y));
  for (long i = 0; i < kRounds; ++i) {
    for (Vector& sum : sums) sum += x * y;
    keep(sums);
  }
}

#if defined(__AVX512BF16__)
void run_bf16() {
  Vector sums[kSums] = {};
  __m512bh x = _mm512_cvtne2ps_pbh(_mm512_set1_ps(1e-9f), _mm512_set1_ps(1e-9f)), y = x;
  asm volatile("" : "+x"(x), "+x"(y));
  for (long i = 0; i < kRounds; ++i) {
    for (Vector& sum : sums) sum = (Vector)_mm512_dpbf16_ps((__m512)sum, x, y);
    keep(sums);
  }
}
constexpr double kBf16Flop = 2 * kFlop;
#else
void run_bf16() { run_f32(); }
constexpr double kBf16Flop = kFlop;
#endif

double seconds_of_thread() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double gflops(void (*run)(), double flop) {
  std::vector<double> best(std::max(std::thread::hardware_concurrency(), 1U));
  std::vector<std::thread> threads;
  for (double& rate : best) {
    threads.emplace_back([&rate, run, flop] {
      for (int attempt = 0; attempt < 5; ++attempt) {
        const double start = seconds_of_thread();
        run();
        rate = std::max(rate, flop / (seconds_of_thread() - start) / 1e9);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  double sum = 0;
  for (const double rate : best) sum += rate;
  return sum;
}

}  // namespace

int main() { std::printf("%.0f %.0f\n", gflops(run_f32, kFlop), gflops(run_bf16, kBf16Flop)); }
