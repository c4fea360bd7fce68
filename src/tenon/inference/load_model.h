// The model of a checkpoint, ready for decoding.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tenon/checkpoint/checkpoint.h"
#include "tenon/checkpoint/state_io.h"
#include "tenon/nn/language/language_model.h"
#include "tenon/text/tokenizer.h"

namespace tenon {

// Layers written out, one array each: as models decode fastest. Of all decoders in `config`.
void unroll_decoders(AnyConfig& config);
// The `model` of the config that is saved with a checkpoint, its decoders unrolled: one array a layer decodes fastest.
// `assignments` are laid over it first. Throws `unsupported` unless it is a LanguageModel, `invalid_argument` for an
// assignment to what isn't in the model, and what apply_set throws.
std::unique_ptr<LanguageModel> load_model(const OpenedCheckpoint& checkpoint,
                                          const std::vector<std::string>& assignments = {});
// The tokenizer that is saved with it; its class must be in the global registry. Throws `unsupported` when there is
// none.
std::shared_ptr<const Tokenizer> load_tokenizer(const OpenedCheckpoint& checkpoint);
// The arrays a module needs, as files know them.
std::vector<StateArray> state_arrays(const Module& model);

// Which parameters of a checkpoint write: the trained ones, or the running means that the learner kept of them.
enum class ParameterSet : uint8_t { trained, means };
// The arrays of a checkpoint that hold the values for `arrays`, in their order: parameters without a mean have their
// own. Throws `not_found` when there are no means at all.
std::vector<StateArray> source_arrays(const std::vector<StateArray>& arrays, const OpenedCheckpoint& checkpoint,
                                      ParameterSet parameters);

}  // namespace tenon
