// In which order the tokens of a row lie along T, which is split over devices.
//
// Letters: B batch, T tokens.
#pragma once

#include <cstdint>

#include "tenon/config/config.h"
#include "tenon/ir/tensor.h"

namespace tenon {

// as_read: in the order of the text. zigzag: cut into 2 n pieces, n being the size of the mesh axis `seq`, of which
// device i has number i and number 2 n - 1 - i: with causal attention all devices then have as many keys to look at
// (Llama 3, 2024, section 3.3.2). With n = 1 the two are the same.
enum class TokenOrder : uint8_t { as_read, zigzag };
TENON_ENUM(TokenOrder, as_read, zigzag)

// x [B,T,…], as it is read, laid in that order for the mesh of the program. Throws `mesh_mismatch` when T doesn't
// divide.
Tensor lay_tokens(const Tensor& x, TokenOrder order);

// The order of what is computed on this thread; as_read, unless a TokenOrderScope is alive.
TokenOrder token_order();
// For layers that take tokens that lie side by side for neighbours: throws `unsupported` where they aren't.
void require_neighbours();

class [[nodiscard]] TokenOrderScope {
 public:
  explicit TokenOrderScope(TokenOrder order);
  ~TokenOrderScope();
  TokenOrderScope(const TokenOrderScope&) = delete;

 private:
  TokenOrder previous_;
};

}  // namespace tenon
