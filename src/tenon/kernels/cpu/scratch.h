// Memory that kernels compute in: kept by each thread from call to call.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace tenon {

// Hands out aligned arrays of one block of the calling thread, which grows to the most ever asked for; a block above
// kMostKept is given back. One at a time in a thread.
class Scratch {
 public:
  // Room for `floats` floats in all, and for the alignment of `arrays` arrays.
  Scratch(size_t floats, size_t arrays) {
    Block& b = block();
    const size_t bytes = (floats * sizeof(float) + (arrays + 1) * kAlignment) / kAlignment * kAlignment;
    if (bytes > b.size) {
      b.data.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, bytes)));
      if (b.data == nullptr) {
        b.size = 0;
        throw std::bad_alloc();
      }
      b.size = bytes;
    }
    next_ = b.data.get();
  }
  ~Scratch() {
    if (block().size > kMostKept) block() = {};
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  float* take(size_t floats) {
    auto* out = reinterpret_cast<float*>(next_);
    next_ += (floats * sizeof(float) + kAlignment - 1) / kAlignment * kAlignment;
    return out;
  }

 private:
  static constexpr size_t kAlignment = 64;
  static constexpr size_t kMostKept = size_t{64} << 20;
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  struct Block {
    std::unique_ptr<std::byte, Free> data;
    size_t size = 0;
  };
  static Block& block() {
    static thread_local Block b;
    return b;
  }
  std::byte* next_;
};

}  // namespace tenon
