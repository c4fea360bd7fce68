// Losses of tokens whose logits are too large to be held all at once.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "tenon/nn/model.h"

namespace tenon {

// The sum of loss(pieces) over `num_chunks` pieces along T of `arrays` [B,T,…], one after another, each computed again
// in the backward pass; with one, loss(arrays). What a piece draws is its own, and what pieces collect is merged.
// Throws `shape_mismatch`, naming `field` of the module that is called, when T doesn't divide, `unsupported` for a
// state that is updated in a piece.
LossSum chunked_loss(const std::vector<Tensor>& arrays, int64_t num_chunks,
                     const std::function<LossSum(const std::vector<Tensor>& pieces)>& loss,
                     std::string_view field = "loss_chunks");

}  // namespace tenon
