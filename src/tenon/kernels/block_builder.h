// Kernels that compute on blocks of arrays, as text in MLIR's generic form: "op"(operands) ({regions}) {attributes} :
// types.
//
// What Triton and Mosaic share is here; what they say differently is virtual.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/base/shape.h"

namespace tenon {

// A block of elements; without dimensions one element, or a pointer or memory, as MLIR writes it.
struct BlockType {
  std::string element;  // "f32", "bf16", "i32", "i1", "index", "!tt.ptr<f32>"
  Dims dims = {};
  bool operator==(const BlockType&) const = default;
};

// A value of the text. Empty: none.
struct BlockValue {
  std::string name;  // "%3"
  BlockType type;
  explicit operator bool() const { return !name.empty(); }
};
using BlockValues = std::vector<BlockValue>;

enum class Comparison : uint8_t { equal, less, less_equal, greater, greater_equal };

// "bf16" for DType::bf16 and so on.
std::string block_element(DType dtype);

class BlockBuilder {
 public:
  // Ops are written as `prefix` + their name; blocks are `keyword`<…>: "tensor" or "vector".
  BlockBuilder(std::string prefix, std::string keyword) : prefix_(std::move(prefix)), keyword_(std::move(keyword)) {}
  virtual ~BlockBuilder() = default;
  BlockBuilder(const BlockBuilder&) = delete;
  BlockBuilder& operator=(const BlockBuilder&) = delete;

  // Writes an op. `attributes`: what stands between the braces. `regions`: of region(…).
  BlockValue emit(std::string_view op, const BlockValues& operands, std::string_view attributes, BlockType result);
  BlockValues emit(std::string_view op, const BlockValues& operands, std::string_view attributes,
                   const std::vector<BlockType>& results, const std::vector<std::string>& regions);
  // The text of a region whose ops `body` writes; `body` is given its parameters.
  std::string region(const std::vector<BlockType>& parameters, const std::function<void(const BlockValues&)>& body);
  // What was written so far, outside of regions.
  const std::string& text() const { return text_; }
  std::string name(const BlockType& type) const;

  // One value everywhere.
  BlockValue constant(const BlockType& type, double value);
  BlockValue like(const BlockValue& x, double value) { return constant(x.type, value); }
  BlockValue integer(int64_t value) { return constant({"i32"}, static_cast<double>(value)); }

  // Elementwise. Operands of two have one type, floats or integers.
  BlockValue add(const BlockValue& a, const BlockValue& b) { return arithmetic("add", a, b); }
  BlockValue sub(const BlockValue& a, const BlockValue& b) { return arithmetic("sub", a, b); }
  BlockValue mul(const BlockValue& a, const BlockValue& b) { return arithmetic("mul", a, b); }
  BlockValue div(const BlockValue& a, const BlockValue& b);   // integers: not negative
  BlockValue max(const BlockValue& a, const BlockValue& b);   // NaN if either is
  BlockValue min(const BlockValue& a, const BlockValue& b);   // integers
  BlockValue both(const BlockValue& a, const BlockValue& b);  // i1; an empty one is true
  BlockValue compare(Comparison how, const BlockValue& a, const BlockValue& b);
  BlockValue select(const BlockValue& condition, const BlockValue& a, const BlockValue& b);
  BlockValue exp(const BlockValue& x);
  BlockValue log(const BlockValue& x);
  // To another float.
  BlockValue convert(const BlockValue& x, const std::string& element);

  virtual BlockValue tanh(const BlockValue& x) = 0;
  // Dimensions of size 1 repeat.
  virtual BlockValue broadcast(const BlockValue& x, const Dims& dims) = 0;
  // Over the columns of [M,N]: [M,1].
  virtual BlockValue row_max(const BlockValue& x) = 0;
  virtual BlockValue row_sum(const BlockValue& x) = 0;
  // acc [M,N] + a [M,K] b [K,N].
  virtual BlockValue dot(const BlockValue& a, const BlockValue& b, const BlockValue& acc) = 0;
  // a [M,K] times the transpose of b [N,K], in f32.
  virtual BlockValue dot_transposed(const BlockValue& a, const BlockValue& b) = 0;

 protected:
  std::string attribute_of_floats() const { return "fastmath = #arith.fastmath<none>"; }

 private:
  BlockValue arithmetic(std::string_view op, const BlockValue& a, const BlockValue& b);
  std::string next() { return "%" + std::to_string(count_++); }

  std::string prefix_, keyword_, text_;
  int count_ = 0;
};

}  // namespace tenon
