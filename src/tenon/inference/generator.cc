#include "tenon/inference/generator.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenon/base/clock.h"
#include "tenon/data/byte_vocab.h"
#include "tenon/inference/load_model.h"
#include "tenon/inference/utf8.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/functional.h"

namespace tenon {
namespace {

// Lengths of programs and caches.
int64_t round_up(int64_t length) {
  int64_t out = 16;
  while (out < length) out *= 2;
  return out;
}

Nest named(const std::vector<std::string>& names, std::span<const Tensor> tensors) {
  Nest out;
  for (size_t i = 0; i < names.size(); ++i) out.emplace(names[i], tensors[i]);
  return out;
}

std::vector<int64_t> prompt_tokens(std::string_view prompt) {
  std::vector<int64_t> out{kBosToken};
  for (const int32_t token : encode_bytes(prompt)) out.push_back(token);
  return out;
}

Literal padded_ids(std::span<const int64_t> ids) {
  std::vector<int64_t> padded(ids.begin(), ids.end());
  const int64_t length = round_up(static_cast<int64_t>(ids.size()));
  padded.resize(static_cast<size_t>(length), kPadToken);
  return Literal::from(DType::i32, {1, length}, std::span<const int64_t>(padded));
}

// Logits of what a text may go on with: bytes and its end.
Tensor without_special(const Tensor& logits) {
  const Tensor token = iota({DType::i32, logits.dims()}, 1);
  const Tensor special =
      logical_and(greater_equal(token, full_like(token, kPadToken)), less(token, full_like(token, kEosToken)));
  return select(special, full_like(logits, kNeverSampled), logits);
}

void check_length(int64_t prompt_length, int64_t max_tokens) {
  const int64_t left = Generator::kMaxLength - prompt_length;
  if (left < 0) {
    throw Error(ErrorCode::invalid_argument, "the prompt is too long")
        .at("prompt")
        .got(fmt::format("{} tokens", prompt_length))
        .expected(fmt::format("at most {}", Generator::kMaxLength));
  }
  if (max_tokens < 0 || max_tokens > left) {
    throw Error(ErrorCode::invalid_argument, "the text doesn't fit behind the prompt")
        .at("max_tokens")
        .got(fmt::format("{}, behind a prompt of {}", max_tokens, prompt_length))
        .expected(fmt::format("0 to {}", left));
  }
}

}  // namespace

// A text in the making.
struct Generator::Sequence {
  int64_t max_length = 0;
  std::vector<Array> cache;
  std::vector<Array> sampling;  // temperature, top_k, key
  Array next;                   // i32 [1,1]: the token behind the last
  int64_t next_token() const { return next.to_literal().as_int(0); }
};

Generator::Generator(const std::string& dir, std::shared_ptr<const Backend> backend) : backend_(std::move(backend)) {
  const OpenedCheckpoint checkpoint = open_checkpoint(dir);
  step_ = checkpoint.step();
  warnings_ = checkpoint.warnings();
  model_ = load_model(checkpoint);
  const std::vector<StateArray> arrays = state_arrays(*model_);
  check_compatible(arrays, checkpoint, "learner.");
  for (const StateArray& array : arrays) {
    names_.push_back(array.name);
    params_.push_back(restore_array(array, checkpoint, backend_, Mesh()));
  }
}

Generator::Generator(std::unique_ptr<LanguageModel> model, const std::map<std::string, Literal>& params,
                     std::shared_ptr<const Backend> backend)
    : model_(std::move(model)), backend_(std::move(backend)) {
  for (const ParamInfo& info : describe_state(*model_)) {
    const auto it = params.find(info.path);
    if (it == params.end()) throw Error(ErrorCode::missing_field, "there is no value for this parameter").at(info.path);
    names_.push_back(info.path);
    params_.push_back(put(it->second));
  }
}

Array Generator::put(const Literal& value) const { return Array::from_literal(backend_, Mesh(), {}, value); }

std::map<std::string, TensorType> Generator::cache_types(int64_t max_length) const {
  std::map<std::string, TensorType> out;
  make_graph({}, [&](const std::vector<Tensor>&) {
    const Nest none;
    const auto cache = functional(*model_, &LanguageModel::init_cache, none, Tensor(), false, int64_t{1}, max_length);
    for (const auto& [name, t] : cache.result) out.emplace(name, t.type());
    return std::vector<Tensor>{};
  });
  return out;
}

// (cache…, parameters…, ids, start, last, temperature, top_k, key) -> (cache…, next token i32 [1,1]).
std::vector<Tensor> Generator::extend(const std::vector<std::string>& cache_names, std::span<const Tensor> args) const {
  const Nest cache = named(cache_names, args), state = named(names_, args.subspan(cache_names.size()));
  const auto rest = args.subspan(cache_names.size() + names_.size());
  const Tensor &ids = rest[0], &start = rest[1], &last = rest[2];
  const auto out = functional(*model_, &LanguageModel::extend_step, state, Tensor(), false, cache, ids, start, last);
  const auto& [next_cache, logits] = out.result;
  std::vector<Tensor> results;
  for (const auto& [name, t] : next_cache) results.push_back(t);
  const Tensor token =
      sample_token(without_special(convert(logits, DType::f32)), rest[3], rest[4], rest[5], start + last);
  results.push_back(reshape(token, {1, 1}));
  return results;
}

const Jitted& Generator::extend_program(int64_t num_tokens, int64_t max_length) {
  const auto key = std::pair(num_tokens, max_length);
  if (const auto it = programs_.find(key); it != programs_.end()) return it->second;
  std::vector<std::string> cache_names;
  std::vector<TensorType> types;
  for (const auto& [name, type] : cache_types(max_length)) {
    cache_names.push_back(name);
    types.push_back(type);
  }
  for (const Array& p : params_) types.push_back(p.type());
  const TensorType i32{DType::i32, {}}, f32{DType::f32, {}};
  for (const TensorType& t :
       {TensorType{DType::i32, {1, num_tokens}}, i32, i32, f32, i32, TensorType{DType::u32, {2}}}) {
    types.push_back(t);
  }
  ProgramSpec spec;
  spec.num_donated = cache_names.size();
  const auto body = [&](const std::vector<Tensor>& args) { return extend(cache_names, args); };
  return programs_.emplace(key, jit(backend_, types, body, spec, &cache_)).first->second;
}

void Generator::compile_programs(int64_t prompt_length, int64_t max_tokens, int64_t max_length) {
  if (prompt_length >= kPrefillTokens) extend_program(kPrefillTokens, max_length);
  const int64_t rest = prompt_length % kPrefillTokens;
  if (rest > 0) extend_program(round_up(rest), max_length);
  if (max_tokens > 1) extend_program(1, max_length);
}

Generator::Sequence Generator::start_sequence(int64_t max_length, const SamplingOptions& options) const {
  Sequence out{.max_length = max_length};
  for (const auto& [name, type] : cache_types(max_length)) out.cache.push_back(put(Literal(type)));
  const auto seed = static_cast<uint64_t>(options.seed);
  const std::vector<int64_t> words{static_cast<int64_t>(seed >> 32), static_cast<int64_t>(seed & 0xFFFFFFFFU)};
  out.sampling = {put(Literal::scalar(DType::f32, options.temperature)),
                  put(Literal::scalar_int(DType::i32, std::min(options.top_k, kByteVocabSize))),
                  put(Literal::from(DType::u32, {2}, std::span<const int64_t>(words)))};
  return out;
}

void Generator::run(Sequence& sequence, const Array& ids, int64_t start, int64_t last) {
  const Jitted& program = extend_program(ids.type().dims[1], sequence.max_length);
  memory_ = program.executable().memory();
  std::vector<Array> args = std::move(sequence.cache);
  args.insert(args.end(), params_.begin(), params_.end());
  args.push_back(ids);
  for (const int64_t v : {start, last}) args.push_back(put(Literal::scalar_int(DType::i32, v)));
  args.insert(args.end(), sequence.sampling.begin(), sequence.sampling.end());
  std::vector<Array> out = program(args);
  sequence.next = std::move(out.back());
  out.pop_back();
  sequence.cache = std::move(out);
}

void Generator::prefill(Sequence& sequence, const std::vector<int64_t>& prompt) {
  const auto length = static_cast<int64_t>(prompt.size());
  for (int64_t start = 0; start < length; start += kPrefillTokens) {
    const int64_t count = std::min(kPrefillTokens, length - start);
    const auto ids = std::span(prompt).subspan(static_cast<size_t>(start), static_cast<size_t>(count));
    run(sequence, put(padded_ids(ids)), start, count - 1);
  }
}

GenerateResult Generator::generate(std::string_view prompt, int64_t max_tokens, const SamplingOptions& options,
                                   const std::function<void(std::string_view)>& on_text) {
  options.check();
  const std::vector<int64_t> ids = prompt_tokens(prompt);
  const auto prompt_length = static_cast<int64_t>(ids.size());
  check_length(prompt_length, max_tokens);
  const int64_t max_length = round_up(prompt_length + max_tokens);
  compile_programs(prompt_length, max_tokens, max_length);
  Sequence sequence = start_sequence(max_length, options);

  GenerateResult result;
  Utf8Stream stream;
  const auto give = [&](const std::string& text) {
    if (on_text && !text.empty()) on_text(text);
    result.text += text;
  };
  const double began = steady_seconds();
  prefill(sequence, ids);
  int64_t token = sequence.next_token();
  const double prefilled = steady_seconds();
  result.prefill_seconds = prefilled - began;
  while (static_cast<int64_t>(result.tokens.size()) < max_tokens) {
    result.ended = token == kEosToken;
    if (result.ended) break;
    result.tokens.push_back(static_cast<int32_t>(token));
    const char byte = static_cast<char>(token);
    give(stream.push(std::string_view(&byte, 1)));
    const auto made = static_cast<int64_t>(result.tokens.size());
    if (made == max_tokens) break;
    run(sequence, Array(sequence.next), prompt_length + made - 1, 0);
    token = sequence.next_token();
  }
  give(stream.finish());
  result.decode_seconds = steady_seconds() - prefilled;
  return result;
}

}  // namespace tenon
