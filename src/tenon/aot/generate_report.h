// Reports of the programs that write text.
#pragma once

#include "tenon/aot/step_report.h"

namespace tenon {

struct GenerateShape {
  int64_t rows = 1;  // texts at once
  // Of a model that reads a source: tokens of that, and of the text alone.
  int64_t prompt_tokens = 256, max_length = 1024;
};

// What reads prompts ("prefill") and what writes each next token ("decode"), of the experiment's model with its
// parameters as `tenon generate` keeps them (f32, or the model's param_dtype): the bound of the first is that of the
// time to the first token, of the second that of each next one. On a mesh the rows of the cache lie as examples do, its
// heads along `model`, where these divide. Throws as compile_train_step does; `unsupported` for a model that can't
// write text, `invalid_argument` for a shape.
std::vector<StepReport> compile_generate(const Trainer::Config& config, std::string_view target,
                                         const GenerateShape& shape, const AotOptions& options = {});

}  // namespace tenon
