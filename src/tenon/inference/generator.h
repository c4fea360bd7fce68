// Writing text with a trained model, from a run's directory alone.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/inference/sampling.h"
#include "tenon/nn/causal_lm.h"
#include "tenon/runtime/jit.h"

namespace tenon {

struct GenerateResult {
  std::string text;             // without the prompt; valid UTF-8
  std::vector<int32_t> tokens;  // what the model chose, without the end of the text
  bool ended = false;           // the model ended the text itself
  // Compiling not included. The prompt gives the first token, each step of decoding one more.
  double prefill_seconds = 0, decode_seconds = 0;
};

// A model of bytes (tenon/data/byte_vocab.h), unrolled for decoding, on one device. The prompt goes in by pieces of up
// to kPrefillTokens; programs are compiled once for each power of two of a piece's and of the sequence's length.
class Generator {
 public:
  static constexpr int64_t kPrefillTokens = 256;
  // Prompt and text together.
  static constexpr int64_t kMaxLength = 65536;

  // From the newest good checkpoint under `dir`, or the one that `dir` is. The classes its config names must be in the
  // global registry. Throws `not_found`, `damaged`, `incompatible`, or `unsupported` when the model can't write bytes.
  Generator(const std::string& dir, std::shared_ptr<const Backend> backend);
  // From a model and its parameters, named as describe_state does. Throws `missing_field`.
  Generator(std::unique_ptr<LanguageModel> model, const std::map<std::string, Literal>& params,
            std::shared_ptr<const Backend> backend);

  // Of the checkpoint.
  int64_t step() const { return step_; }
  // About damaged checkpoints that were passed over.
  const std::vector<std::string>& warnings() const { return warnings_; }
  // Up to `max_tokens` behind `prompt`; `on_text` gets whole characters as they are made. Throws `invalid_argument`.
  GenerateResult generate(std::string_view prompt, int64_t max_tokens, const SamplingOptions& options,
                          const std::function<void(std::string_view)>& on_text = {});
  // Of the program that ran last; zeros before the first. `alias` is the whole cache: it is donated, written in place.
  const pjrt::MemoryStats& memory() const { return memory_; }

 private:
  struct Sequence;
  Sequence start_sequence(int64_t max_length, const SamplingOptions& options) const;
  // The program that takes `num_tokens` more tokens of a sequence.
  const Jitted& extend_program(int64_t num_tokens, int64_t max_length);
  std::vector<Tensor> extend(const std::vector<std::string>& cache_names, std::span<const Tensor> args) const;
  void compile_programs(int64_t prompt_length, int64_t max_tokens, int64_t max_length);
  // Runs tokens `ids` [1,T], the first of them at `start`, the last that counts at `start + last`.
  void run(Sequence& sequence, const Array& ids, int64_t start, int64_t last);
  void prefill(Sequence& sequence, const std::vector<int64_t>& prompt);
  std::map<std::string, TensorType> cache_types(int64_t max_length) const;
  Array put(const Literal& value) const;

  std::unique_ptr<LanguageModel> model_;
  std::shared_ptr<const Backend> backend_;
  std::vector<std::string> names_;
  std::vector<Array> params_;
  CompileCache cache_;
  std::map<std::pair<int64_t, int64_t>, Jitted> programs_;
  int64_t step_ = 0;
  pjrt::MemoryStats memory_;
  std::vector<std::string> warnings_;
};

}  // namespace tenon
