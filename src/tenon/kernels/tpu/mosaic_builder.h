// Mosaic, the dialect of TPU kernels, in the form that doesn't change between versions ("stable_mosaic").
#pragma once

#include "tenon/kernels/block_builder.h"

namespace tenon {

// Of a vector register: blocks are multiples.
inline constexpr int64_t kLanes = 128;

// A part of an array in a core's memory.
struct MosaicMemory {
  BlockValue value;
  std::string element;
  Dims dims;
};

class MosaicBuilder final : public BlockBuilder {
 public:
  MosaicBuilder() : BlockBuilder("stable_mosaic.", "vector") {}

  // All of it, without the dimensions of size 1 in front of the last two.
  BlockValue load(const MosaicMemory& memory);
  void store(const MosaicMemory& memory, const BlockValue& block);
  // Element `index` (i32) of a vector in scalar memory.
  BlockValue scalar(const MosaicMemory& memory, const BlockValue& index);
  // [1,n] as [n,1], or the other way round, through the transposition of a block of 128: dear, not for inner loops.
  BlockValue turned(const BlockValue& x);
  // i32 of these dimensions: 0, 1, … along dimension `dim`.
  BlockValue places(const Dims& dims, int64_t dim);
  void if_then(const BlockValue& condition, const std::function<void()>& body);

  BlockValue tanh(const BlockValue& x) override;
  BlockValue broadcast(const BlockValue& x, const Dims& dims) override;
  BlockValue row_max(const BlockValue& x) override;
  BlockValue row_sum(const BlockValue& x) override;
  BlockValue dot(const BlockValue& a, const BlockValue& b, const BlockValue& acc) override;
  BlockValue dot_transposed(const BlockValue& a, const BlockValue& b) override;

 private:
  BlockValues origin(size_t rank);
  BlockValue reduce(const BlockValue& x, const char* kind, double start);
  BlockValue product(const BlockValue& a, const BlockValue& b, const BlockValue& acc, const char* dimensions);
  BlockValue reshape(const BlockValue& x, const Dims& dims);
};

// Where in the grid a program is, and what was put into scalar memory before it began.
struct MosaicPlace {
  BlockValues grid;  // i32
  std::vector<MosaicMemory> prefetched;
};

// An array of which each program sees one block.
struct MosaicWindow {
  std::string element;
  Dims block;
  // Which block along each dimension.
  std::function<BlockValues(MosaicBuilder&, const MosaicPlace&)> at;
};

struct MosaicKernel {
  std::string name;
  Dims grid;                          // programs run in this order, the last dimension fastest
  int64_t num_parallel = 0;           // leading dimensions of the grid whose programs don't depend on each other
  Dims prefetched;                    // lengths of vectors of i32, the first operands
  std::vector<MosaicWindow> windows;  // the other operands, then results
  std::vector<BlockType> scratch;     // kept from one program to the next
  std::function<void(MosaicBuilder&, const MosaicPlace&, const std::vector<MosaicMemory>& windows,
                     const std::vector<MosaicMemory>& scratch)>
      body;
};
std::string mosaic_module(const MosaicKernel& kernel);

}  // namespace tenon
