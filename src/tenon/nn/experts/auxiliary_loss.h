// Losses that layers add to the training loss: of routers, for one.
//
// A layer gives one number an example. It counts once for each live token of the example, as the loss of tokens does,
// so that the sum over a global batch, divided by its live tokens, is the same however the batch is split.
#pragma once

#include <string_view>

#include "tenon/nn/context.h"
#include "tenon/nn/model.h"

namespace tenon {

// Adds `per_example` (a float [B], its share in the loss already multiplied in) to the training loss, and to summaries
// as
// "<name>_loss". Layers of a stack add up. Throws `shape_mismatch` when it isn't one-dimensional.
void auxiliary_loss(std::string_view name, const Tensor& per_example);

// For models: `loss` with all auxiliary losses that were given below the current module added, which are taken out of
// the collection. live_tokens f32 [B]: each example's share in loss.weight. Gives summaries of each, and, if there are
// any, of "token_loss", which is `loss` without them.
LossSum add_auxiliary_losses(const LossSum& loss, const Tensor& live_tokens);

// For models whose loss has them in it already: takes the auxiliary losses that were given below the current module out
// of the collection and gives the same summaries.
void report_auxiliary_losses(const LossSum& with_them, const Tensor& live_tokens);
// What layers add to such a loss: the sum of the auxiliary losses [layers, B] among `aux`; empty when there are none.
Tensor sum_of_auxiliary_losses(const Outputs& aux, const Tensor& live_tokens);

// Throws `unsupported` when an auxiliary loss was given that no model added to its loss.
void require_no_auxiliary_loss(const Outputs& aux);

}  // namespace tenon
