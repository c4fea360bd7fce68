#include "tenon/inference/generator.h"

#include <fmt/format.h>

#include "tenon/base/clock.h"
#include "tenon/checkpoint/state_io.h"
#include "tenon/config/access.h"
#include "tenon/config/text.h"
#include "tenon/data/byte_vocab.h"
#include "tenon/inference/utf8.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/functional.h"

namespace tenon {
namespace {

constexpr int64_t kMaxSequence = int64_t{1} << 20;

class Unroll : public TreeVisitor {
 public:
  bool enter(const Path&, AnyConfig& config) override {
    if (auto* decoder = dynamic_cast<Decoder::Config*>(&config)) decoder->form = StackForm::unroll;
    return true;
  }
};

// The model of a run's config, unrolled.
std::unique_ptr<LanguageModel> load_model(const OpenedCheckpoint& checkpoint) {
  const std::unique_ptr<AnyConfig> config =
      from_toml(checkpoint.file("config.toml").value(), checkpoint.path() + "/config.toml");
  Slot<Model>& slot = get_as<Slot<Model>>(*config, "model");
  Unroll unroll;
  walk(slot.mutable_get(), unroll);
  std::unique_ptr<Model> model = slot.build();
  if (dynamic_cast<LanguageModel*>(model.get()) == nullptr) {
    throw Error(ErrorCode::unsupported, "this model can't write: it is no LanguageModel").at(checkpoint.path());
  }
  return std::unique_ptr<LanguageModel>(static_cast<LanguageModel*>(model.release()));
}

std::vector<StateArray> state_arrays(const Module& model) {
  std::vector<StateArray> out;
  for (const ParamInfo& info : describe_state(model)) out.push_back({info.path, info.logical_shape(), info.stack, info.partition});
  return out;
}

int64_t power_of_two(int64_t at_least) {
  int64_t out = 16;
  while (out < at_least) out *= 2;
  return out;
}

Nest named(const std::vector<std::string>& names, std::span<const Tensor> tensors) {
  Nest out;
  for (size_t i = 0; i < names.size(); ++i) out.emplace(names[i], tensors[i]);
  return out;
}

// Names and types of the cache for sequences of up to `max_len`.
std::map<std::string, TensorType> cache_types(const LanguageModel& model, int64_t max_len) {
  std::map<std::string, TensorType> out;
  make_graph({}, [&](const std::vector<Tensor>&) {
    const Nest none;
    const auto cache = functional(model, &LanguageModel::init_cache, none, Tensor(), false, int64_t{1}, max_len);
    for (const auto& [name, t] : cache.result) out.emplace(name, t.type());
    return std::vector<Tensor>{};
  });
  return out;
}

std::vector<int64_t> prompt_tokens(std::string_view prompt) {
  std::vector<int64_t> out{kBosToken};
  for (char c : prompt) out.push_back(static_cast<uint8_t>(c));
  return out;
}

Literal ids_literal(const std::vector<int64_t>& ids, int64_t length) {
  std::vector<int64_t> padded = ids;
  padded.resize(static_cast<size_t>(length), kPadToken);
  return Literal::from(DType::i32, {1, length}, std::span<const int64_t>(padded));
}

}  // namespace

Generator::Generator(const std::string& dir, std::shared_ptr<const Backend> backend) : backend_(std::move(backend)) {
  const OpenedCheckpoint checkpoint = open_latest(dir).value();
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
    names_.push_back(info.path);
    params_.push_back(put(params.at(info.path)));
  }
}

Array Generator::put(const Literal& value) const { return Array::from_literal(backend_, Mesh(), {}, value); }

// (cache…, params…, ids i32[1,length], start, last, temperature, top_k, seed u32[2]) -> (cache…, token i32[1,1]).
const Executable& Generator::extend_program(int64_t length, int64_t max_len) {
  const auto key = std::pair(length, max_len);
  if (const auto it = programs_.find(key); it != programs_.end()) return it->second;
  std::vector<std::string> cache_names, all_names;
  std::vector<TensorType> types;
  for (const auto& [name, type] : cache_types(*model_, max_len)) {
    cache_names.push_back(name);
    types.push_back(type);
  }
  for (const Array& p : params_) types.push_back(p.type());
  for (const TensorType& t : {TensorType{DType::i32, {1, length}}, TensorType{DType::i32, {}}, TensorType{DType::i32, {}},
                              TensorType{DType::f32, {}}, TensorType{DType::i32, {}}, TensorType{DType::u32, {2}}}) {
    types.push_back(t);
  }
  const auto body = [&](const std::vector<Tensor>& args) {
    const std::span<const Tensor> all(args);
    const auto rest = all.subspan(cache_names.size() + names_.size());
    const Nest state = named(names_, all.subspan(cache_names.size(), names_.size()));
    const Nest cache = named(cache_names, all.first(cache_names.size()));
    const auto out = functional(*model_, &LanguageModel::extend_step, state, Tensor(), false, cache, rest[0], rest[1], rest[2]);
    std::vector<Tensor> results;
    for (const auto& [name, t] : out.result.first) results.push_back(t);
    const Tensor token = sample_token(out.result.second, rest[3], rest[4], rest[5], rest[1] + rest[2]);
    results.push_back(reshape(token, {1, 1}));
    return results;
  };
  ProgramSpec spec;
  spec.num_donated = cache_names.size();
  const Executable& program = programs_.emplace(key, jit(backend_, types, body, spec, &cache_)).first->second;
  donated_bytes_ = program.memory().alias;
  return program;
}

std::vector<Array> Generator::empty_cache(int64_t max_len) {
  std::vector<Array> out;
  for (const auto& [name, type] : cache_types(*model_, max_len)) out.push_back(put(Literal(type)));
  return out;
}

GenerateResult Generator::generate(std::string_view prompt, int64_t max_tokens, const SamplingOptions& options,
                                   const std::function<void(std::string_view)>& on_text) {
  options.check();
  std::vector<int64_t> ids = prompt_tokens(prompt);
  const auto prompt_length = static_cast<int64_t>(ids.size());
  if (max_tokens < 0 || max_tokens > kMaxSequence - prompt_length) {
    throw Error(ErrorCode::invalid_argument, "max_tokens and the prompt don't fit into a sequence")
        .at("max_tokens")
        .got(fmt::format("{} behind a prompt of {} tokens", max_tokens, prompt_length))
        .expected(fmt::format("0 … {}", kMaxSequence - prompt_length));
  }
  const int64_t bucket = power_of_two(prompt_length);
  const int64_t max_len = power_of_two(std::max(bucket, prompt_length + max_tokens));
  std::vector<Array> cache = empty_cache(max_len);
  const auto scalar = [&](int64_t v) { return put(Literal::scalar_int(DType::i32, v)); };
  const uint64_t seed = static_cast<uint64_t>(options.seed);
  const std::vector<int64_t> seed_words{static_cast<int64_t>(seed >> 32), static_cast<int64_t>(seed & 0xFFFFFFFFu)};
  const Array temperature = put(Literal::scalar(DType::f32, options.temperature)), top_k = scalar(options.top_k),
              key = put(Literal::from(DType::u32, {2}, std::span<const int64_t>(seed_words)));

  // Runs `length` tokens at `start`; returns the token behind number `last` of them, and leaves its array in `next`.
  Array next;
  const auto extend = [&](const Array& tokens, int64_t length, int64_t start, int64_t last) {
    const Executable& program = extend_program(length, max_len);
    std::vector<Array> args = std::move(cache);
    args.insert(args.end(), params_.begin(), params_.end());
    for (const Array& a : {tokens, scalar(start), scalar(last), temperature, top_k, key}) args.push_back(a);
    std::vector<Array> out = program(args);
    next = out.back();
    out.pop_back();
    cache = std::move(out);
    return next.to_literal().as_int(0);
  };

  GenerateResult result;
  Utf8Stream stream;
  const auto give = [&](std::string text) {
    if (on_text && !text.empty()) on_text(text);
    result.text += text;
  };
  double began = steady_seconds();
  int64_t token = extend(put(ids_literal(ids, bucket)), bucket, 0, prompt_length - 1);
  result.prefill_seconds = steady_seconds() - began;
  if (max_tokens > 1) extend_program(1, max_len);
  began = steady_seconds();
  while (result.num_tokens < max_tokens) {
    if (token >= kPadToken) {
      result.ended = true;
      break;
    }
    const char byte = static_cast<char>(token);
    give(stream.push(std::string_view(&byte, 1)));
    if (++result.num_tokens == max_tokens) break;
    token = extend(Array(next), 1, prompt_length + result.num_tokens - 1, 0);
  }
  give(stream.finish());
  result.decode_seconds = steady_seconds() - began;
  return result;
}

}  // namespace tenon
