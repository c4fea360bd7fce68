// Writing text with a trained model, from a run's directory alone.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/inference/generate_options.h"
#include "tenon/inference/load_model.h"
#include "tenon/inference/model_runner.h"
#include "tenon/inference/text_writer.h"
#include "tenon/text/tokenizer.h"

namespace tenon {

// A model of text, unrolled for decoding, on one device. The prompt goes in by pieces of up to kPrefillTokens; programs
// are compiled once for each power of two of a piece's and of the sequence's length, and of the number of texts, and
// for prompts of one length and of several. A model that reads a source is given the prompt as one, without `bos` and
// `eos`, at once, and the text begins behind `bos`.
class Generator {
 public:
  static constexpr int64_t kPrefillTokens = 256;
  // Prompt and text together; of a model that reads a source each of both.
  static constexpr int64_t kMaxLength = 65536;
  // Texts written at once.
  static constexpr int64_t kMaxRows = 64;

  // From the newest good checkpoint under `dir`, or the one that `dir` is, with assignments ("model.compute_dtype=f32")
  // laid over its config. The classes this names must be in the global registry. Throws `not_found` (when it has no
  // means, where these are asked for, too), `damaged`, `incompatible`, or `unsupported` when the model can't write
  // text; and what apply_set throws.
  Generator(const std::string& dir, std::shared_ptr<const Backend> backend,
            ParameterSet parameters = ParameterSet::trained, const std::vector<std::string>& assignments = {});
  // From a model and its parameters, named as describe_state does, and its tokenizer. Throws `missing_field`, or
  // `incompatible` when the tokenizer has more tokens than the model.
  Generator(std::unique_ptr<LanguageModel> model, const std::map<std::string, Literal>& params,
            std::shared_ptr<const Tokenizer> tokenizer, std::shared_ptr<const Backend> backend);

  // Of the checkpoint.
  int64_t step() const { return step_; }
  // Whether a text is made of its prompt, rather than going on behind it.
  bool reads_source() const { return runner_->reads_source(); }
  // About damaged checkpoints that were passed over.
  const std::vector<std::string>& warnings() const { return warnings_; }

  // Throws what `generate` does for a prompt and options that don't go with the model, and writes nothing.
  void check(std::string_view prompt, const GenerateOptions& options) const { checked_prompt(prompt, options); }
  // A text behind `prompt`, or made of it; `on_text` gets whole characters as they are made (of beam search, all at the
  // end). Throws `invalid_argument` or `unsupported` naming the option.
  GenerateResult generate(std::string_view prompt, const GenerateOptions& options,
                          const std::function<void(std::string_view)>& on_text = {});
  // One text a prompt; text i has the seed options.sampling.seed + i. Up to kMaxRows prompts, of any lengths, are
  // written together; what is drawn for one doesn't depend on the others. Beam search takes one after another.
  std::vector<GenerateResult> generate_all(std::span<const std::string> prompts, const GenerateOptions& options);

  // Of the program that ran last; zeros before the first. `alias` is the whole cache: it is donated, written in place.
  const pjrt::MemoryStats& memory() const { return runner_->memory(); }

 private:
  // What a text begins with, and its source; without tokens where the model reads none.
  struct Prompt {
    std::vector<int64_t> tokens, source;
  };
  // Texts behind prompts, with a seed each.
  struct Texts {
    std::vector<std::vector<int64_t>> prompts, sources;
    std::vector<int64_t> seeds;
    std::vector<TextWriter> writers;
  };
  // Throws what `check` does for a prompt.
  Prompt read_prompt(std::string_view prompt, int64_t max_tokens) const;
  Prompt checked_prompt(std::string_view prompt, const GenerateOptions& options) const;
  void add_text(Texts& texts, Prompt prompt, int64_t seed, const GenerateOptions& options,
                std::function<void(std::string_view)> on_text = {}) const;
  // Tokens of a program's sources; 0: the model reads none.
  int64_t source_length(std::span<const std::vector<int64_t>> sources) const;
  // What goes with the first tokens of a batch.
  std::optional<SourceTokens> source_tokens(std::span<const std::vector<int64_t>> sources,
                                            const SequenceBatch& batch) const;
  std::vector<GenerateResult> write(Texts texts, const GenerateOptions& options);
  GenerateResult search(const Prompt& prompt, const GenerateOptions& options);
  // Compiles what texts behind prompts of up to this length need.
  void prepare(GenerateKey key, int64_t prompt_length, const GenerateOptions& options);
  // Reads the prompts; the token behind each.
  std::vector<int64_t> first_tokens(const Texts& texts, SequenceBatch& batch, const Array& numbers, const Array& keys);

  std::shared_ptr<const Tokenizer> tokenizer_;
  std::unique_ptr<ModelRunner> runner_;
  int64_t step_ = 0;
  std::vector<std::string> warnings_;
};

}  // namespace tenon
