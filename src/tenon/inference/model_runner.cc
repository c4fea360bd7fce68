#include "tenon/inference/model_runner.h"

#include <fmt/format.h>

#include "tenon/inference/sampling.h"
#include "tenon/ir/ops.h"
#include "tenon/nn/functional.h"
#include "tenon/nn/transformer/sequence.h"

namespace tenon {
namespace {

Nest named(const std::vector<std::string>& names, std::span<const Tensor> tensors) {
  Nest out;
  for (size_t i = 0; i < names.size(); ++i) out.emplace(names[i], tensors[i]);
  return out;
}

// The tokens [first, second) and others that never stand for text, but the end.
std::vector<std::pair<int64_t, int64_t>> textless_ranges(const Tokenizer& tokenizer, int64_t vocab_size) {
  std::vector<std::pair<int64_t, int64_t>> out;
  for (int64_t token = 0; token < vocab_size; ++token) {
    const auto id = static_cast<int32_t>(token);
    if (!tokenizer.is_special(id) || id == tokenizer.eos_id()) continue;
    if (!out.empty() && out.back().second == token) {
      ++out.back().second;
    } else {
      out.emplace_back(token, token + 1);
    }
  }
  return out;
}

// Logits of what a text may go on with: tokens of text and its end.
Tensor without_special(Tensor logits, const Tokenizer& tokenizer) {
  const Tensor token = iota({DType::i32, logits.dims()}, 1);
  for (const auto& [begin, end] : textless_ranges(tokenizer, logits.dims()[1])) {
    const Tensor special = logical_and(greater_equal(token, full_like(token, static_cast<double>(begin))),
                                       less(token, full_like(token, static_cast<double>(end))));
    logits = select(special, full_like(logits, kNeverSampled), logits);
  }
  return logits;
}

// `counts` f32 [B,V] with the tokens `ids` [B,T] up to `last` counted.
Tensor count_tokens(const Tensor& counts, const Tensor& ids, const Tensor& last) {
  const Tensor place = iota({DType::i32, ids.dims()}, 1);
  const Tensor live = convert(less_equal(place, broadcast_to(column_of(last, ids.dim(0)), ids.dims())), DType::f32);
  return scatter_add_along(counts, ids, live, 1);
}

Tensor log_softmax(const Tensor& logits) {
  const Tensor shifted = logits - max_keep(logits, {1});
  return shifted - log(sum_keep(exp(shifted), {1}));
}

}  // namespace

ModelRunner::ModelRunner(std::unique_ptr<LanguageModel> model, std::vector<std::string> names,
                         std::vector<Array> params, std::shared_ptr<const Tokenizer> tokenizer,
                         std::shared_ptr<const Backend> backend)
    : model_(std::move(model)),
      names_(std::move(names)),
      params_(std::move(params)),
      tokenizer_(std::move(tokenizer)),
      backend_(std::move(backend)) {}

Array ModelRunner::put(const Literal& value) const { return Array::from_literal(backend_, Mesh(), {}, value); }

std::optional<int64_t> ModelRunner::max_length() const {
  std::optional<int64_t> out;
  make_graph({}, [&](const std::vector<Tensor>&) {
    const Nest none;
    out = functional(*model_, &LanguageModel::max_length, none, Tensor(), false).result;
    return std::vector<Tensor>{};
  });
  return out;
}

std::map<std::string, TensorType> ModelRunner::cache_types(int64_t rows, int64_t max_length) const {
  std::map<std::string, TensorType> out;
  make_graph({}, [&](const std::vector<Tensor>&) {
    const Nest none;
    const auto cache = functional(*model_, &LanguageModel::init_cache, none, Tensor(), false, rows, max_length);
    for (const auto& [name, t] : cache.result) out.emplace(name, t.type());
    return std::vector<Tensor>{};
  });
  return out;
}

SequenceBatch ModelRunner::start(int64_t rows, int64_t max_length) const {
  SequenceBatch out{rows, max_length, {}};
  for (const auto& [name, type] : cache_types(rows, max_length)) out.state.push_back(put(Literal(type)));
  out.state.push_back(put(Literal(TensorType{DType::f32, {rows, vocab_size()}})));
  return out;
}

std::vector<Tensor> ModelRunner::body(const Key& key, const std::vector<std::string>& cache_names,
                                      std::span<const Tensor> args) const {
  Nest cache = named(cache_names, args);
  Tensor counts = args[cache_names.size()];
  const Nest state = named(names_, args.subspan(cache_names.size() + 1));
  const auto rest = args.subspan(cache_names.size() + 1 + names_.size());
  const Tensor &ids = rest[0], &start = rest[1], &last = rest[2];
  if (key.count > 0) {
    for (auto& [name, t] : cache) t = take(t, rest[3]);
  } else {
    counts = count_tokens(counts, ids, last);
  }
  const auto out = functional(*model_, &LanguageModel::extend_step, state, Tensor(), false, cache, ids, start, last);
  const auto& [next_cache, raw] = out.result;
  std::vector<Tensor> results;
  for (const auto& [name, t] : next_cache) results.push_back(t);
  results.push_back(counts);
  const Tensor logits = convert(raw, DType::f32);
  if (key.count > 0) {
    const Tensor sums = log_softmax(without_special(logits, *tokenizer_)) + expand_dims(rest[4], 1);
    const TopK best = top_k(reshape(sums, {-1}), key.count);
    results.insert(results.end(), {best.values, best.indices});
  } else {
    const SamplingNumbers numbers(rest[3]);
    const Tensor likely = without_special(penalize_repetition(logits, counts, numbers.repetition_penalty), *tokenizer_);
    results.push_back(reshape(sample_token(likely, numbers, rest[4], start + last), {key.rows, 1}));
  }
  return results;
}

const Jitted& ModelRunner::program(const Key& key) {
  if (const auto it = programs_.find(key); it != programs_.end()) return it->second;
  std::vector<std::string> cache_names;
  std::vector<TensorType> types;
  for (const auto& [name, type] : cache_types(key.rows, key.max_length)) {
    if (key.count > 0 && (type.rank() == 0 || type.dims[0] != key.rows)) {
      throw Error(ErrorCode::unsupported, "beam search moves the rows of a cache, and this array has none")
          .at(name)
          .got(to_string(type))
          .expected(fmt::format("a first dimension of {}", key.rows));
    }
    cache_names.push_back(name);
    types.push_back(type);
  }
  const int64_t R = key.rows;
  types.push_back({DType::f32, {R, vocab_size()}});
  ProgramSpec spec;
  spec.num_donated = types.size();
  for (const Array& p : params_) types.push_back(p.type());
  const TensorType i32{DType::i32, key.ragged ? Dims{R} : Dims{}};
  for (const TensorType& t : {TensorType{DType::i32, {R, key.num_tokens}}, i32, i32}) types.push_back(t);
  if (key.count > 0) {
    for (const TensorType& t : {TensorType{DType::i32, {R}}, TensorType{DType::f32, {R}}}) types.push_back(t);
  } else {
    for (const TensorType& t : {TensorType{DType::f32, {5}}, TensorType{DType::u32, {R, 2}}}) types.push_back(t);
  }
  const auto traced = [&](const std::vector<Tensor>& args) { return body(key, cache_names, args); };
  return programs_.emplace(key, jit(backend_, types, traced, spec, &cache_)).first->second;
}

std::vector<Array> ModelRunner::run(const Key& key, std::vector<Array>& state, const NextTokens& next,
                                    std::span<const Array> rest) {
  const Jitted& jitted = program(key);
  memory_ = jitted.executable().memory();
  const auto num_state = static_cast<int64_t>(state.size());
  std::vector<Array> args = std::move(state);
  args.insert(args.end(), params_.begin(), params_.end());
  args.push_back(next.ids);
  for (const std::vector<int64_t>& v : {next.start, next.last}) {
    const Dims dims = key.ragged ? Dims{key.rows} : Dims{};
    args.push_back(put(Literal::from(DType::i32, dims, std::span<const int64_t>(v))));
  }
  args.insert(args.end(), rest.begin(), rest.end());
  std::vector<Array> out = jitted(args);
  state.assign(out.begin(), out.begin() + num_state);
  return {out.begin() + num_state, out.end()};
}

Array ModelRunner::sample(SequenceBatch& batch, const NextTokens& next, const Array& numbers, const Array& keys) {
  const Key key{batch.rows, next.ids.type().dims[1], batch.max_length, 0, next.start.size() > 1};
  return run(key, batch.state, next, std::vector<Array>{numbers, keys})[0];
}

ModelRunner::Ranked ModelRunner::rank(SequenceBatch& batch, const NextTokens& next, const Array& parents,
                                      const Array& scores, int64_t count) {
  const Key key{batch.rows, next.ids.type().dims[1], batch.max_length, count, false};
  const std::vector<Array> out = run(key, batch.state, next, std::vector<Array>{parents, scores});
  return {out[0], out[1]};
}

}  // namespace tenon
