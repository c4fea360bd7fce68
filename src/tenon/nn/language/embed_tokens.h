// From tokens to what a stack of layers reads.
#pragma once

#include <optional>

#include "tenon/nn/basic/embedding.h"
#include "tenon/nn/position/position_embedding.h"

namespace tenon {

// Rows of the table for ids i32 [B,T] and, where there is a `by_position`, its rows for positions i32 [B,T] added:
// [B,T,D]. Both are children of the module that calls.
Tensor embed_tokens(const Child<Embedding>& embedding, const std::optional<Child<PositionEmbedding>>& by_position,
                    const Tensor& ids, const Tensor& positions);
// The same of whole texts: throws `invalid_argument` when T is more than there are positions for.
Tensor embed_texts(const Child<Embedding>& embedding, const std::optional<Child<PositionEmbedding>>& by_position,
                   const Tensor& ids, const Tensor& positions);

}  // namespace tenon
