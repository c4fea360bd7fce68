// Why a model's losses depend on how its training is cut up: what `tenon parity` can't find to agree.
#pragma once

#include <string>
#include <vector>

#include "tenon/trainer/trainer.h"

namespace tenon {

// One line for each reason that the model's config gives, with the paths that do: "draws: each microbatch has its own,
// … (model.decoder.…dropout)". Empty where losses must agree but for the order of sums in f32.
std::vector<std::string> parity_limits(const Trainer::Config& config);

}  // namespace tenon
