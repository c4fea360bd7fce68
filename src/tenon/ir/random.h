// Random numbers from ordinary ops: Threefry-2x32 with 20 rounds (Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011), so that a key gives the same bits on every backend, mesh and loop form.
//
// A key is u32[2], or u32[B…, 2] for a batch of keys. A draw of `shape` from it is [shape…] or [B…, shape…]; entry b of
// a batched draw is, to the bit, the draw from key b. Every element is its own Threefry block, whose counter is the
// element's row-major index in `shape`: no element depends on another, so draws shard like elementwise ops.
//
// The blocks of one key, by counter (low word, high word):
//   draws        (index mod 2^32, index / 2^32), high word below 2^31
//   fold_in int  (data, 2^31)
//   fold_in name (low half of the name's FNV-1a 64, high half with its top two bits set)
// so a key may be folded and drawn from. Two draws from one key repeat each other: fold first.
#pragma once

#include <cstdint>
#include <string_view>

#include "tenon/ir/tensor.h"

namespace tenon {

struct RandomWords {
  Tensor first, second;
};

// One block for each pair of counters, which are u32[B…, S…] where `key` is u32[B…, 2].
RandomWords threefry2x32(const Tensor& key, const Tensor& low, const Tensor& high);

// u32[2]: the high and the low half of `seed`.
Tensor make_key(uint64_t seed);
// A new key for each of `data`. Tensors are u32 or i32; their shape and the batch of keys broadcast together, so one
// key and i32[L] give u32[L, 2].
Tensor fold_in(const Tensor& key, const Tensor& data);
Tensor fold_in(const Tensor& key, uint32_t data);
// A new key for a name.
Tensor fold_in(const Tensor& key, std::string_view name);

// u32, all bits random.
Tensor random_bits(const Tensor& key, const Dims& shape);
// Uniform in [0, 1): multiples of 2^-p for a dtype of p bits of precision (f64 53, f32 24, f16 11, bf16 8).
Tensor random_uniform(const Tensor& key, const Dims& shape, DType dtype);
// Normal with mean 0 and variance 1, within 5.5 standard deviations: the inverse error function of a uniform (Giles,
// "Approximating the erfinv function", 2012), computed in f32 and converted.
Tensor random_normal(const Tensor& key, const Dims& shape, DType dtype);
// As random_normal, but only what falls in [-2, 2]; its variance is 0.774.
Tensor random_truncated_normal(const Tensor& key, const Dims& shape, DType dtype);

}  // namespace tenon
