#include "tenon/nn/batch.h"

#include "tenon/base/error.h"

namespace tenon {

const Tensor& token_array(const Nest& batch, const char* name, const char* like) {
  const auto it = batch.find(name);
  if (it == batch.end()) throw Error(ErrorCode::missing_field, "the batch lacks this array").at(name);
  const Tensor& x = it->second;
  const auto ids = batch.find(like);
  if (x.dtype() != DType::i32 || x.rank() != 2 || (ids != batch.end() && x.dims() != ids->second.dims())) {
    throw Error(ErrorCode::shape_mismatch, "an array of the batch")
        .at(name)
        .got(to_string(x.type()))
        .expected(std::string("i32[B,T], the same for all arrays that go with ") + like);
  }
  return x;
}

}  // namespace tenon
