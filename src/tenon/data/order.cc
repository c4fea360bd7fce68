#include "tenon/data/order.h"

#include <bit>

#include "tenon/base/error.h"

namespace tenon {
namespace {

constexpr int kRounds = 6;

// The finalizer of SplitMix64 (Steele, Lea and Flood 2014): every input bit reaches every output bit.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

uint64_t mix(uint64_t a, uint64_t b) { return mix(mix(a) ^ b); }

}  // namespace

Permutation::Permutation(uint64_t size, uint64_t key) : size_(size), key_(key) {
  check(size >= 1, "a permutation of at least one element");
  half_bits_ = (std::bit_width(size - 1) + 1) / 2;
}

uint64_t Permutation::operator()(uint64_t index) const {
  check(index < size_, "index inside the permutation");
  if (size_ == 1) return 0;
  do {
    index = once(index);
  } while (index >= size_);
  return index;
}

uint64_t Permutation::once(uint64_t value) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t left = value >> half_bits_, right = value & mask;
  for (uint64_t round = 0; round < kRounds; ++round) {
    const uint64_t next = left ^ (mix(key_ + round, right) & mask);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

uint64_t EpochOrder::operator()(uint64_t position) const {
  return Permutation(size_, mix(seed_, position / size_))(position % size_);
}

uint64_t fold_seed(uint64_t seed, uint64_t index) { return mix(mix(seed, 3), index); }

WindowOrder::WindowOrder(uint64_t stream_length, uint64_t window, uint64_t seed)
    : stream_length_(stream_length), window_(window), seed_(seed), num_windows_(0) {
  check(window >= 1 && window <= stream_length, "a window that fits into the stream");
  num_windows_ = stream_length / window;
}

uint64_t WindowOrder::start(uint64_t position) const {
  const uint64_t epoch = position / num_windows_;
  const uint64_t key = mix(seed_, epoch);
  const uint64_t offset = mix(key, 1) % stream_length_;
  const uint64_t window = Permutation(num_windows_, mix(key, 2))(position % num_windows_);
  return (offset + window * window_) % stream_length_;
}

}  // namespace tenon
