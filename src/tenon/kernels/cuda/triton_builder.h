// Triton's dialect: https://triton-lang.org/main/dialects/TritonOps.html.
#pragma once

#include "tenon/kernels/block_builder.h"

namespace tenon {

class TritonBuilder final : public BlockBuilder {
 public:
  TritonBuilder() : BlockBuilder("", "tensor") {}

  // Which program of the grid this is, along axis 0, 1 or 2: i32.
  BlockValue program(int axis);
  // start, start + 1, …: i32 [count].
  BlockValue range(const BlockValue& start, int64_t count);
  // [n] as a row [1,n] or a column [n,1].
  BlockValue row(const BlockValue& x) { return expand(x, 0); }
  BlockValue column(const BlockValue& x) { return expand(x, 1); }
  // i32 as i64.
  BlockValue wide(const BlockValue& x);
  // `pointer` moved by `offset` elements.
  BlockValue move(const BlockValue& pointer, const BlockValue& offset);

  // One element.
  BlockValue load(const BlockValue& pointer);
  // [count] elements, or row-major [rows,columns], from `pointer` on.
  BlockValue load(const BlockValue& pointer, const Dims& dims);
  void store(const BlockValue& pointer, const BlockValue& block);
  // [n,1] as [n].
  BlockValue flat(const BlockValue& column);

  // for i in [begin, end): `carried` goes through `body`(i, carried).
  BlockValues loop(const BlockValue& begin, const BlockValue& end, const BlockValues& carried,
                   const std::function<BlockValues(const BlockValue&, const BlockValues&)>& body);

  BlockValue tanh(const BlockValue& x) override;
  BlockValue broadcast(const BlockValue& x, const Dims& dims) override;
  BlockValue row_max(const BlockValue& x) override;
  BlockValue row_sum(const BlockValue& x) override;
  BlockValue dot(const BlockValue& a, const BlockValue& b, const BlockValue& acc) override;
  BlockValue dot_transposed(const BlockValue& a, const BlockValue& b) override;

 private:
  BlockValue splat(const BlockValue& x, const Dims& dims);
  BlockValue expand(const BlockValue& x, int axis);
  BlockValue reduce(const BlockValue& x, bool largest);
  BlockValue pointers(const BlockValue& pointer, const Dims& dims);
  BlockValue load_at(const BlockValue& pointers, const std::string& element);
};

// A kernel as a module: `body` is given the arguments, which are pointers to the elements of arrays.
std::string triton_module(TritonBuilder& b, const std::string& name, const std::vector<std::string>& elements,
                          const std::function<void(const BlockValues&)>& body);

}  // namespace tenon
