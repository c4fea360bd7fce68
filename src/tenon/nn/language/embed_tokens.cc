#include "tenon/nn/language/embed_tokens.h"

#include "tenon/ir/ops.h"

namespace tenon {

Tensor embed_tokens(const Child<Embedding>& embedding, const std::optional<Child<PositionEmbedding>>& by_position,
                    const Tensor& ids, const Tensor& positions) {
  const Tensor x = embedding(ids);
  return by_position ? x + (*by_position)(positions) : x;
}

Tensor embed_texts(const Child<Embedding>& embedding, const std::optional<Child<PositionEmbedding>>& by_position,
                   const Tensor& ids, const Tensor& positions) {
  if (by_position) by_position->call(&PositionEmbedding::check_length, ids.dim(1));
  return embed_tokens(embedding, by_position, ids, positions);
}

}  // namespace tenon
