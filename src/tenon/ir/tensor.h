// `Tensor`: a small handle to one value of a trace.
#pragma once

#include <cstdint>

#include "tenon/base/shape.h"

namespace tenon {

class Trace;
using ValueId = uint32_t;

// Copyable; comparing, storing and passing it costs nothing. Empty until assigned. A tensor is usable while the region
// it belongs to is open and on the thread that traces it; any other use throws `wrong_context`.
class Tensor {
 public:
  Tensor() = default;
  Tensor(Trace* trace, ValueId id) : trace_(trace), id_(id) {}

  explicit operator bool() const { return trace_ != nullptr; }
  const TensorType& type() const;
  DType dtype() const { return type().dtype; }
  const Dims& dims() const { return type().dims; }
  int64_t rank() const { return type().rank(); }
  // Size of dimension `i`; negative counts from the end.
  int64_t dim(int64_t i) const;

  Trace* trace() const { return trace_; }
  ValueId id() const { return id_; }
  bool operator==(const Tensor&) const = default;

 private:
  Trace* trace_ = nullptr;
  ValueId id_ = 0;
};

}  // namespace tenon
