// The order of examples as a pure function of (seed, position): no state to save, any position is reached at once.
#pragma once

#include <cstdint>

namespace tenon {

// A pseudo-random permutation of 0 … size-1 that is computed element by element: a Feistel network over the next even
// power of two, applied again while the result lies outside ("cycle walking"; Black and Rogaway 2002, section 4).
class Permutation {
 public:
  // `size` at least 1.
  Permutation(uint64_t size, uint64_t key);
  // Where `index` (< size) goes.
  uint64_t operator()(uint64_t index) const;

 private:
  uint64_t once(uint64_t value) const;
  uint64_t size_;
  uint64_t key_;
  int half_bits_;
};

// 0 … size-1 in random order, epoch after epoch, each in its own.
class EpochOrder {
 public:
  // `size` at least 1.
  EpochOrder(uint64_t size, uint64_t seed) : size_(size), seed_(seed) {}
  // What stands at `position` of all epochs behind one another.
  uint64_t operator()(uint64_t position) const;

 private:
  uint64_t size_;
  uint64_t seed_;
};

// A seed of its own for the `index`-th of several things that share one.
uint64_t fold_seed(uint64_t seed, uint64_t index);

// Windows of a circular stream in random order. Each epoch visits every window once, in its own order and with all
// windows moved by its own random offset, so that they don't start at the same places every time.
class WindowOrder {
 public:
  // `window` at least 1, at most `stream_length`.
  WindowOrder(uint64_t stream_length, uint64_t window, uint64_t seed);
  // Windows in one epoch: the whole ones that fit.
  uint64_t num_windows() const { return num_windows_; }
  // Where in the stream the window at this place in the order starts. It may run past the end, on to the beginning.
  uint64_t start(uint64_t position) const;

 private:
  uint64_t stream_length_;
  uint64_t window_;
  uint64_t seed_;
  uint64_t num_windows_;
};

}  // namespace tenon
