// Writing text with a trained model, from a run's directory alone.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/inference/sampling.h"
#include "tenon/nn/causal_lm.h"
#include "tenon/runtime/jit.h"

namespace tenon {

struct GenerateResult {
  std::string text;        // without the prompt; valid UTF-8
  int64_t num_tokens = 0;  // made, the end-of-text token not counted
  bool ended = false;      // the model ended the text itself
  double prefill_seconds = 0, decode_seconds = 0;
};

// A model of bytes (tenon/data/byte_vocab.h), unrolled for decoding. Programs are compiled once for each power of two of
// prompt and of sequence length.
class Generator {
 public:
  // From the newest good checkpoint under `dir`. Throws `not_found`, `damaged` or `incompatible`.
  Generator(const std::string& dir, std::shared_ptr<const Backend> backend);
  // From a model and its parameters, named as describe_state does, for tests and other callers.
  Generator(std::unique_ptr<LanguageModel> model, const std::map<std::string, Literal>& params,
            std::shared_ptr<const Backend> backend);

  int64_t step() const { return step_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  // Up to `max_tokens` behind `prompt`; `on_text` gets whole characters as they are made. Throws `invalid_argument`.
  GenerateResult generate(std::string_view prompt, int64_t max_tokens, const SamplingOptions& options,
                          const std::function<void(std::string_view)>& on_text = {});
  // Bytes of the cache that the decode step reuses in place, after generate: 0 would mean it is copied.
  int64_t donated_bytes() const { return donated_bytes_; }

 private:
  const Executable& extend_program(int64_t length, int64_t max_len);
  std::vector<Array> empty_cache(int64_t max_len);
  Array put(const Literal& value) const;

  std::unique_ptr<LanguageModel> model_;
  std::shared_ptr<const Backend> backend_;
  std::vector<std::string> names_;
  std::vector<Array> params_;
  CompileCache cache_;
  std::map<std::pair<int64_t, int64_t>, Executable> programs_;
  int64_t step_ = 0, donated_bytes_ = 0;
  std::vector<std::string> warnings_;
};

}  // namespace tenon
